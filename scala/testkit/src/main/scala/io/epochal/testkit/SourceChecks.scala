package io.epochal.testkit

/** The checks of a source that need no query:
  *
  * {{{
  * final class MySourceSuite extends SourceChecks {
  *   override def sourceName = "my-source"
  *   override def newFixture() = new SourceFixture { … }
  * }
  * }}}
  *
  * Offsets must be exclusive and JSON, with a version field `"v"` or `"version"`; `latestOffset` must honour read limits.
  */
trait SourceChecks extends PromiseTests with Refusals {

  def sourceName: String

  /** Creates an empty origin. */
  def newFixture(): SourceFixture

  register(sourceName, StreamChecks.of(() => newFixture(), _ => reports))
}
