/** Field lines in the order they came; names as they were written. */
export type HeaderList = readonly (readonly [name: string, value: string])[]

/** From node's `rawHeaders`: name and value by turns. */
export function pairHeaders(raw: readonly string[]): HeaderList {
  const pairs: [string, string][] = []
  for (let index = 0; index + 1 < raw.length; index += 2)
    pairs.push([raw[index] ?? '', raw[index + 1] ?? ''])
  return pairs
}

/** Every value of one field; `name` in lower case. */
export function valuesOf(headers: HeaderList, name: string): readonly string[] {
  return headers.filter(([field]) => field.toLowerCase() === name).map(([, value]) => value)
}

/** RFC 9110 §7.6.1, and what only concerns a proxy. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
])

/**
 * What may go to the next hop: without hop-by-hop fields, whatever `Connection` names, and
 * `Proxy-*` (credentials for us are none of the origin's business). `Content-Length` stays even
 * when `Connection` names it: a message must not lose its framing on the way.
 */
export function withoutHopByHop(headers: HeaderList): HeaderList {
  const named = new Set(
    valuesOf(headers, 'connection').flatMap((value) =>
      value.split(',').map((option) => option.trim().toLowerCase()),
    ),
  )
  return headers.filter(([field]) => {
    const name = field.toLowerCase()
    if (name === 'content-length') return true
    return !HOP_BY_HOP.has(name) && !named.has(name) && !name.startsWith('proxy-')
  })
}
