package io.epochal.testkit

import io.epochal.core.error.Conditions
import io.epochal.testkit.SourcePromises._
import io.epochal.testkit.report.{Check, Evidence}

/** Offsets: JSON with a version field (`"v"` or `"version"`) and the identity of the source. */
private[testkit] object OffsetChecks {

  private val Version = "\"(?:v|version)\"\\s*:\\s*\"?(\\d+)".r
  private val Future = "4711"
  // An end that follows a clock moves within a second, whatever the clock counts.
  private val ClockMillis = 1200L
  private val Looks = 4

  def of(stage: StreamScene.Stage): Seq[Check] = Seq(
    stage.check(OffsetRoundTrip) { scene =>
      val (stream, start, end) = scene.started(7)
      Seq(start, end).foreach { offset =>
        val again = stream.deserializeOffset(offset.json)
        Evidence.equal("the JSON of an offset that was read from JSON", again.json, offset.json)
        Evidence.unless(again == offset)(s"the offset read from ${offset.json} does not equal the one that was written")
      }
    },
    stage.check(FutureVersion) { scene =>
      val (stream, _, end) = scene.started(7)
      val found =
        Version.findFirstMatchIn(end.json).getOrElse(Evidence.broken(s"an offset names no version: ${end.json}"))
      val version = BigInt(found.group(1))
      val later = end.json.substring(0, found.start(1)) + Future + end.json.substring(found.end(1))
      val error = scene.refused(Conditions.OffsetVersionUnsupported, s"the offset $later") {
        stream.deserializeOffset(later)
      }
      // The newest that is read; an offset may be written in an older one.
      val named = "\\d+".r.findAllIn(Evidence.text(error)).map(BigInt(_)).toSet
      Evidence.unless(named(BigInt(Future)) && (named - BigInt(Future)).exists(_ >= version))(
        s"the error names not both versions, $Future and at least $version: ${Evidence.text(error)}")
    },
    stage.check(ForeignOffset) { scene =>
      val (stream, start, end) = scene.started(7)
      val foreign = scene.newStreamOfAnotherSource()
      scene.refused(Conditions.SourceChanged, s"${end.json} by another source") {
        foreign.planInputPartitions(foreign.deserializeOffset(start.json), foreign.deserializeOffset(end.json))
      }
      val first = foreign.initialOffset().json
      scene.refused(Conditions.SourceChanged, s"$first, the offset of another source,")(stream.deserializeOffset(first))
    },
    stage.check(InvalidOffset) { scene =>
      val stream = scene.newStream(1)
      Seq("", "{}", "[]", "17").foreach { text =>
        scene.refused(Conditions.OffsetInvalid, s"'$text' as an offset")(stream.deserializeOffset(text))
      }
    },
    stage.check(FirstOffset) { scene =>
      val first = scene.newStream().initialOffset().json
      scene.fixture.makeAvailable(5)
      Evidence.equal("the first offset, after a restart", scene.newStream(1).initialOffset().json, first)
    },
    stage.check(EndFromOrigin) { scene =>
      val (stream, start, end) = scene.started(3)
      (1 to Looks).foreach { _ =>
        MicroBatch.next(stream, end, scene.everything).foreach { more =>
          Evidence.broken(s"nothing was added, and the end went from ${end.json} to ${more.json}")
        }
        Thread.sleep(ClockMillis / Looks)
      }
      Evidence.sameRows("rows between two equal offsets", scene.read(stream, start, start), Nil)
    },
    stage.check(EndCounts) { scene =>
      val (stream, start, end) = scene.started(12)
      Evidence.equal("rows before the first offset", scene.rowsBefore(stream, start), 0L)
      Evidence.equal("rows before the offset after all of them", scene.rowsBefore(stream, end), 12L)
    }
  )
}
