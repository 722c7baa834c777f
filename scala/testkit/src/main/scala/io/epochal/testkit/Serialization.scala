package io.epochal.testkit

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, ObjectInputStream, ObjectOutputStream, ObjectStreamClass}

import scala.util.Using

/** What travels to executors and back is serialized; so it is in the checks. */
object Serialization {

  /** The object as another JVM would receive it. */
  def copy[A](value: A): A = {
    val bytes = new ByteArrayOutputStream()
    Using.resource(new ObjectOutputStream(bytes))(_.writeObject(value))
    Using.resource(new LoadingStream(bytes.toByteArray))(_.readObject().asInstanceOf[A])
  }

  private class LoadingStream(bytes: Array[Byte]) extends ObjectInputStream(new ByteArrayInputStream(bytes)) {
    override def resolveClass(description: ObjectStreamClass): Class[_] =
      try Class.forName(description.getName, false, Thread.currentThread().getContextClassLoader)
      catch { case _: ClassNotFoundException => super.resolveClass(description) }
  }
}
