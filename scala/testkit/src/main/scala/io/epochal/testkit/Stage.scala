package io.epochal.testkit

import scala.util.{Try, Using}

import io.epochal.testkit.report.{Check, NotChecked, Promise}

final private[testkit] class Stage[F <: Fixture, S <: AutoCloseable](newFixture: () => F)(scene: F => S) {

  def check(promise: Promise)(body: S => Any): Check =
    new Check(promise, () => Using.resource(open(promise))(body(_): Unit))

  /** Creates something that closes the scene. Fails with `NotChecked` if the promise is exempt. */
  def make[A](promise: Promise)(make: S => A): Try[A] = Try(open(promise)).flatMap { scene =>
    val subject = Try(make(scene))
    if (subject.isFailure) scene.close()
    subject
  }

  /** Opens a scene, which closes its fixture. */
  private def open(promise: Promise): S = {
    val fixture = newFixture()
    try {
      fixture.exemption(promise).foreach(reason => throw new NotChecked(reason))
      scene(fixture)
    } catch {
      case e: Throwable =>
        fixture.close()
        throw e
    }
  }
}
