/** Limit for the head of a message; single sign-on and some sites send large fields. */
export const MAX_HEAD_BYTES = 65_536

/** Header fields in order, with their names as written. */
export type HeaderList = readonly (readonly [name: string, value: string])[]

/** Pairs the alternating names and values of Node's `rawHeaders`. */
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

/** RFC 9110 §7.6.1, and fields that concern only a proxy. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
])

/** The options of all `Connection` fields, in lower case. */
export function connectionOptions(headers: HeaderList): ReadonlySet<string> {
  return new Set(
    valuesOf(headers, 'connection').flatMap((value) =>
      value.split(',').map((option) => option.trim().toLowerCase()),
    ),
  )
}

/**
 * The fields for the next hop: without hop-by-hop fields, fields named by `Connection`, and
 * `Proxy-*`, which may hold credentials for this proxy. `Content-Length` stays even if `Connection`
 * names it, because a message must keep its framing.
 */
export function withoutHopByHop(headers: HeaderList): HeaderList {
  const named = connectionOptions(headers)
  return headers.filter(([field]) => {
    const name = field.toLowerCase()
    if (name === 'content-length') return true
    return !HOP_BY_HOP.has(name) && !named.has(name) && !name.startsWith('proxy-')
  })
}
