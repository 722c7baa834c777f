package io.epochal.testkit

import io.epochal.testkit.report.Promise

/** What a fixture says it does not promise. */
private[testkit] object Exemptions {

  def of(fixture: SourceFixture, promise: Promise): Option[String] =
    Option(fixture.exemptions.get(promise.name)).orElse(promise match {
      case SourcePromises.KeepsRows if !fixture.keepsRows =>
        Some("declared: the source keeps no rows long after they were committed")
      case SourcePromises.AvailableNowTarget if !fixture.endIsKnownAtStart =>
        Some("declared: the source cannot say where it ends before it is read to there")
      case _ => None
    })

  def of(fixture: FormatSink, promise: Promise): Option[String] =
    Option(fixture.exemptions.get(promise.name)).orElse(promise match {
      case SinkPromises.WholeEpochs if !fixture.showsWholeEpochs =>
        Some("declared: rows are visible before the commit")
      case _ => None
    })
}
