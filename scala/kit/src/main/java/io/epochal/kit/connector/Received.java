package io.epochal.kit.connector;

import io.epochal.core.annotation.Experimental;
import java.util.List;

/**
 * What a receiver has received.
 *
 * @param records their bytes, as the decoder reads them
 * @param cursor where the origin is asked next
 * @param atEnd whether it has no more now
 */
@Experimental
public record Received<C>(List<byte[]> records, C cursor, boolean atEnd) {}
