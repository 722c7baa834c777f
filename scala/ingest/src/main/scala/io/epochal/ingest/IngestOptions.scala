package io.epochal.ingest

import java.net.{InetAddress, InetSocketAddress}
import java.time.{Clock, Duration}

import scala.util.Try

import org.apache.spark.sql.connector.read.streaming.ReadLimit

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.option.{OptionGroup, OptionSpec, OptionType, OptionValues, SourceOptions}
import io.epochal.ingest.http.{HttpListener, IngestHttpOptions}
import io.epochal.ingest.intake.{IntakeSettings, Listener}
import io.epochal.ingest.tcp.{TcpListener, TcpReceiver, TcpSettings}
import io.epochal.kit.access.SecretOptionList
import io.epochal.kit.record.{LoneRecordOptions, RecordRules}
import io.epochal.kit.source.ReadLimits

/** Validated options of a query.
  *
  * @param listen
  *   binds the listener's port; driver only: it contains secrets and is not serialized
  * @param records
  *   how records become the columns of a schema; None: rows of text
  * @param replacesInvalid
  *   whether bytes that are not UTF-8 become U+FFFD in rows of text
  * @param source
  *   the source identity that is stored in offsets
  */
final case class IngestOptions(
    @transient listen: () => Listener,
    records: Option[RecordRules],
    schema: Option[String],
    replacesInvalid: Boolean,
    intake: IntakeSettings,
    numPartitions: Option[Int],
    @transient limit: ReadLimit,
    failOnDataLoss: Boolean,
    source: String,
    eventTimeColumn: Option[String]
) {

  /** Log message for lost rows.
    *
    * @throws io.epochal.core.error.EpochalException
    *   DATA_LOSS, unless `failOnDataLoss` is false
    */
  def dataLoss(from: Long, until: Long, reason: String): String =
    s"${SourceOptions.lost(source, failOnDataLoss)(from, until, reason)} They are skipped (failOnDataLoss=false)."
}

object IngestOptions extends SecretOptionList {
  val Format: String = Listener.Format

  val Protocol = option("protocol", OptionType.oneOf("tcp", "http"), Some("tcp"))("Lines over TCP, or POST requests.")
  val Mode = option("mode", OptionType.oneOf("listen", "connect"), Some("listen"))(
    "Accept any number of clients, or read from one server as Spark's socket source does (protocol=tcp).")
  val Host = option("host", OptionType.string, Some("127.0.0.1"))(
    "The driver's address to listen on, or the server to read from. Any address but loopback needs a token or, with protocol=http, a credential or TLS.")
  val Port = option("port", OptionType.int(0, 65535), sample = Some("9999"), required = true)(
    "Port to listen on (0: any free one, reported in the query's progress), or of the server.")
  val Token =
    secret("token", "Token required in each connection's first line: TOKEN, a space, the token (protocol=tcp)")
  val Ack = option("ack", OptionType.boolean, Some(false))(
    "Whether clients receive OK and the number of their connection's lines that are stored and synced (protocol=tcp, mode=listen).")
  val AckRun = option("ackRun", OptionType.boolean, Some(false))(
    "Whether each OK ends with the id of the run that stored the lines; the query's progress has it, too (protocol=tcp, ack=true).")
  val MaxLineBytes = option("maxLineBytes", OptionType.bytes, Some(1L << 20))(
    "Maximum line size; a longer line closes its connection with an error (protocol=tcp).")
  val IdleTimeout = option("idleTimeout", OptionType.duration, Some(Duration.ofHours(1)))(
    "Silence after which a connection is closed; 0s: never. Default with protocol=http: 1m.")
  val MaxConnections = option("maxConnections", OptionType.int(1, 100000), Some(1000))(
    "Maximum connections; further ones are closed or, with protocol=http, wait.")
  val MaxJournalBytes = option("maxJournalBytes", OptionType.bytes, Some(1L << 30))(
    "Maximum undelivered bytes. Beyond it TCP clients wait, HTTP clients get status 429.")
  val DedupWindow = option("dedupWindow", OptionType.duration, Some(Duration.ofMinutes(10)))(
    "How long idempotency keys are remembered: repeated ones are acknowledged but not stored again (protocol=http).")
  IngestHttpOptions.all.foreach(also(_))
  val Kind = option("format", OptionType.oneOf("text", "json", "csv"), Some("text"))(
    "Records as text in the column value, or parsed into the schema's columns.")
  LoneRecordOptions.all.foreach(also(_))
  val InvalidUtf8 = option("invalidUtf8", OptionType.oneOf("replace", "keep"), Some("replace"))(
    "Whether invalid UTF-8 in the column value becomes U+FFFD or is kept (format=text).")
  val MaxBytes = option("maxBytesPerBatch", OptionType.bytes, sample = Some("64m"))(
    "Maximum record bytes in a micro-batch. Unset: all available ones.")
  val NumPartitions =
    option("numPartitions", OptionType.int(1))("Partitions per batch. Unset: Spark's default parallelism.")

  private val ofTcp: Seq[OptionSpec[_]] = Token.all ++ Seq(Ack, AckRun, MaxLineBytes)
  private val ofHttp: Seq[OptionSpec[_]] = DedupWindow +: IngestHttpOptions.all

  val group: OptionGroup = OptionGroup(
    Format,
    "Records that clients send over TCP or HTTP, acknowledged once they are in a durable journal. Micro-batch, continuous and real-time reads.",
    all ++ SourceOptions.all
  )

  def read(raw: Map[String, String]): Either[EpochalException, IngestOptions] =
    for {
      values <- group.parse(raw)
      records <- values(Kind) match {
        case "text" => LoneRecordOptions.unset(values).map(_ => None)
        case kind   => LoneRecordOptions.read(values, kind).map(Some(_))
      }
      _ <- values.consistent(records.isEmpty || !values.isSet(InvalidUtf8))(
        s"${InvalidUtf8.reference} without {option:format=text}",
        s"Leave ${InvalidUtf8.reference} out: it is for the column value.")
      listen <- if (values(Protocol) == "http") http(values) else tcp(values, blanks = records.isEmpty)
    } yield IngestOptions(
      listen,
      records,
      values.get(LoneRecordOptions.Schema),
      values(InvalidUtf8) == "replace",
      IntakeSettings(values(MaxJournalBytes), values(DedupWindow)),
      values.get(NumPartitions),
      ReadLimits.of(values, values.get(MaxBytes).map(ReadLimit.maxBytes(_))),
      values(SourceOptions.FailOnDataLoss),
      values.get(SourceOptions.SourceId).getOrElse(identity(values)),
      values.get(SourceOptions.EventTimeColumn)
    )

  private type Start = () => Listener

  private def http(values: OptionValues): Either[EpochalException, Start] =
    for {
      _ <- values.only(ofTcp: _*)(holds = false, "{option:protocol=tcp}")
      _ <- values.consistent(values(Mode) == "listen")(
        "{option:mode=connect}, {option:protocol=http}",
        "Leave {option:mode} out: an API is read by the format epochal-rest.")
      idleTimeout = if (values.isSet(IdleTimeout)) values(IdleTimeout) else Duration.ofMinutes(1)
      settings <- IngestHttpOptions.read(values, values(MaxConnections), idleTimeout, values(Kind))
      _ <- exposure(values, IngestHttpOptions.Protection, settings.isProtected)
    } yield () => new HttpListener(settings, new InetSocketAddress(values(Host), values(Port)), Clock.systemUTC())

  private def tcp(values: OptionValues, blanks: Boolean): Either[EpochalException, Start] =
    for {
      token <- Token.of(values)
      _ <- IngestHttpOptions.atMost(values, MaxLineBytes, 256L << 20, "256m")
      _ <- values.consistent(values(Ack) || !values(AckRun))(
        s"${AckRun.reference} without {option:ack=true}",
        "Set {option:ack=true}: only acknowledgements name the run.")
      settings = TcpSettings(
        values(Host),
        values(Port),
        token,
        values(Ack),
        values(AckRun),
        values(MaxLineBytes).toInt,
        values(IdleTimeout),
        values(MaxConnections),
        blanks)
      _ <- values.only(ofHttp: _*)(holds = false, "{option:protocol=http}")
      start <- if (values(Mode) == "listen") listen(values, settings) else connect(values, settings)
    } yield start

  private def listen(values: OptionValues, settings: TcpSettings): Either[EpochalException, Start] =
    exposure(values, "{option:token}, {option:tokenFile} or {option:tokenEnv}", settings.token.nonEmpty)
      .map(_ => () => new TcpListener(settings))

  private def connect(values: OptionValues, settings: TcpSettings): Either[EpochalException, Start] =
    for {
      _ <- values.only(Ack, AckRun, MaxConnections, IdleTimeout)(holds = false, "{option:mode=listen}")
      _ <- Either.cond(settings.port > 0, (), values.group.invalid(Port, "0", "the port of a server"))
    } yield () => new TcpReceiver(settings)

  /** Refuses a listener that is reachable from other machines without protection. */
  private def exposure(values: OptionValues, protection: String, isProtected: Boolean): Either[EpochalException, Unit] =
    Either.cond(
      isProtected || isLoopback(values(Host)),
      (),
      Conditions.ListenerExposed(
        "format" -> Format,
        "address" -> s"${values(Host)}:${values(Port)}",
        "protection" -> protection))

  private def isLoopback(host: String): Boolean = Try(InetAddress.getByName(host).isLoopbackAddress).getOrElse(false)

  /** Excludes the address: it may change between runs, and the records still belong to the same journal. */
  private def identity(values: OptionValues): String =
    if (values(Mode) == "connect") s"tcp://${values(Host)}:${values(Port)}" else "clients"
}
