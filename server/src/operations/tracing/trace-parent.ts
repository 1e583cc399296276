import { TraceFlags, type SpanContext } from '@opentelemetry/api'

/** Version 00 (W3C Trace Context, §3.2); of a later one the same members count. */
const TRACE_PARENT =
  /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/

/** The caller's span in a `traceparent` header; null for an absent or malformed header. */
export function parseTraceParent(
  header: string | readonly string[] | undefined,
): SpanContext | null {
  if (typeof header !== 'string') return null
  const [, version, traceId, spanId, flags, rest] = TRACE_PARENT.exec(header) ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return null
  if (version === '00' && rest !== undefined) return null
  const isSampled = (Number.parseInt(flags, 16) & TraceFlags.SAMPLED) !== 0
  return {
    traceId,
    spanId,
    traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: true,
  }
}
