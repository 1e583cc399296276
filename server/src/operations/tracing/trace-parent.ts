import { TraceFlags, type SpanContext } from '@opentelemetry/api'
import { parseTraceParent as parse } from '@opentelemetry/core'

/**
 * The caller's span in a `traceparent` header (W3C Trace Context §3.2); null for an absent or
 * malformed header. `tracestate` is the client's text and is left out.
 */
export function parseTraceParent(
  header: string | readonly string[] | undefined,
): SpanContext | null {
  // The library would accept white space at both ends.
  if (typeof header !== 'string' || header !== header.trim()) return null
  const parent = parse(header)
  if (parent === null) return null
  return { ...parent, traceFlags: parent.traceFlags & TraceFlags.SAMPLED, isRemote: true }
}
