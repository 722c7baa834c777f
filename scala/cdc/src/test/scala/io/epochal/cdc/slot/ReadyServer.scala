package io.epochal.cdc.slot

/** Facts of a server that is ready for a capture of `public.orders`. */
private[cdc] object ReadyServer {

  val server: Server = Server(
    version = 180000,
    systemId = "7",
    timeline = 1,
    end = 100,
    database = "shop",
    role = "cdc",
    walLevel = "logical",
    effectiveWalLevel = "logical",
    isStandby = false,
    replicates = true,
    createsPublications = true,
    slots = (0, 10),
    senders = (0, 10),
    keptWal = Some("50GB"),
    standbys = Nil,
    seesStandbys = true
  )
  val orders: TableFacts = TableFacts(
    oid = 1,
    schema = "public",
    table = "orders",
    kind = "r",
    identity = "d",
    isLogged = true,
    isReadable = true,
    isOwned = true,
    primaryKey = Seq("id"),
    identityColumns = Nil,
    columns = Seq("id", "note"))
  val facts: ServerFacts = ServerFacts(server, None, None, Seq(orders))
  val publication: PublicationFacts =
    PublicationFacts(
      "orders",
      Set("insert", "update", "delete", "truncate"),
      viaRoot = false,
      Map("public.orders" -> PublishedTable(Nil, None, isListed = false)))
  val slot: SlotFacts =
    SlotFacts(
      "orders",
      "pgoutput",
      "shop",
      Some(1),
      "reserved",
      None,
      Some(0),
      None,
      twoPhase = false,
      failover = true,
      isSynced = false,
      None,
      end = Some(1),
      loggedUntil = Some(0),
      now = 0)
}
