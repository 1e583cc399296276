import { describe, expect, it } from 'vitest'
import { parseTraceParent } from '../../../../server/src/operations/tracing/trace-parent.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'

describe('a traceparent header', () => {
  it.each([
    [`00-${TRACE}-${SPAN}-01`, 1],
    [`00-${TRACE}-${SPAN}-00`, 0],
    [`00-${TRACE}-${SPAN}-03`, 1],
    [`cc-${TRACE}-${SPAN}-01-what-the-future-brings`, 1],
  ])('%s names the span of the caller', (header, traceFlags) => {
    expect(parseTraceParent(header)).toEqual({
      traceId: TRACE,
      spanId: SPAN,
      traceFlags,
      isRemote: true,
    })
  })

  it.each([
    undefined,
    '',
    TRACE,
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}-1`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE}-${SPAN}-01\n`,
    [`00-${TRACE}-${SPAN}-01`],
  ])('%s names no span', (header) => {
    expect(parseTraceParent(header)).toBeNull()
  })
})
