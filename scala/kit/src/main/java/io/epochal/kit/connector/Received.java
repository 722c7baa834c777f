package io.epochal.kit.connector;

import io.epochal.core.annotation.Experimental;
import java.util.List;

/**
 * Records that a receiver has received.
 *
 * @param records their bytes, as the decoder reads them
 * @param cursor where the origin continues
 * @param atEnd whether the origin has no more records now
 */
@Experimental
public record Received<C>(List<byte[]> records, C cursor, boolean atEnd) {}
