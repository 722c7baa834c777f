package io.epochal.core.error

/** Of reaching a database, and of what it says: a part of [[Conditions]]. */
private[error] trait DatabaseConditions {

  val DatabaseUnreachable = Condition(
    "DATABASE_UNREACHABLE",
    "The database <url> could not be reached: <reason>.",
    "Check the url, and that the server is running and can be reached from the driver."
  )
  val LoginRefused = Condition(
    "LOGIN_REFUSED",
    "The database <url> refused the login: <reason>.",
    "Check user and password (or passwordFile, passwordEnv), and that this user may connect to this database from the hosts of driver and executors."
  )
  val DriverMissing = Condition(
    "DRIVER_MISSING",
    "No JDBC driver was found for <url>: <reason>.",
    "Put the driver's jar on Spark's class path (spark.jars or --packages<package>), or set the option 'driver' to its class."
  )
  val DatabaseError = Condition(
    "DATABASE_ERROR",
    "<url> failed in <step>: SQLSTATE <state>, <reason>.",
    "The transaction was rolled back. Correct the cause and start again; a streaming query goes on from its checkpoint."
  )
  val DatabaseFileReplaced = Condition(
    "DATABASE_FILE_REPLACED",
    "The file <file> of <url> was <change> while the query had it open.",
    "<advice>"
  )
}
