package io.epochal.kit.source.journal

import java.util.concurrent.ConcurrentHashMap

import io.epochal.core.journal.FileStore

/** The feeds of this JVM, by the directories of their journals: wakes readers in the same JVM when there is more. */
private[epochal] object LiveFeeds {
  private val feeds = new ConcurrentHashMap[String, FeedView]

  def add(store: FileStore, feed: FeedView): Unit = feeds.put(store.toString, feed): Unit

  def remove(store: FileStore, feed: FeedView): Unit = feeds.remove(store.toString, feed): Unit

  def of(store: FileStore): Option[FeedView] = Option(feeds.get(store.toString))
}
