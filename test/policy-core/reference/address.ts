/** An address as a number. Never IPv4-mapped IPv6, which is represented as the IPv4 address. */
export interface Address {
  readonly family: 4 | 6
  readonly value: bigint
}

/** Every address of `family` that shares the first `prefix` bits with `value`. */
export interface Range extends Address {
  readonly prefix: number
}

const DOTTED_DECIMAL = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/

/** Reads dotted decimal, or any spelling of IPv6 without zone id. Returns null otherwise. */
export function readAddress(text: unknown): Address | null {
  const written = readAsWritten(text)
  return written === null ? null : unmapped({ ...written, prefix: bitsOf(written) })
}

/** Reads `<address>/<prefix>` without host bits. Returns null otherwise. */
export function readRange(text: string): Range | null {
  const [addressText, prefixText, ...rest] = text.split('/')
  const written = readAsWritten(addressText)
  if (written === null || prefixText === undefined || rest.length > 0) return null
  if (!/^(?:0|[1-9]\d{0,2})$/.test(prefixText)) return null
  const prefix = Number(prefixText)
  if (prefix > bitsOf(written)) return null
  const hostBits = BigInt(bitsOf(written) - prefix)
  return (written.value >> hostBits) << hostBits === written.value
    ? unmapped({ ...written, prefix })
    : null
}

/** The range that contains only this address. */
export function onlyAddress(address: Address): Range {
  return { ...address, prefix: bitsOf(address) }
}

export function covers(range: Range, address: Address): boolean {
  const ignored = BigInt(bitsOf(range) - range.prefix)
  return range.family === address.family && range.value >> ignored === address.value >> ignored
}

/** Whether `outer` contains `inner`. A range contains itself. */
export function liesInside(inner: Range, outer: Range): boolean {
  return inner.prefix >= outer.prefix && covers(outer, inner)
}

/** Formats dotted decimal, or RFC 5952 for IPv6. */
export function formatAddress({ family, value }: Address): string {
  if (family === 4) return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join('.')
  const groups = [...Array(8).keys()].map((i) =>
    ((value >> BigInt(112 - 16 * i)) & 0xffffn).toString(16),
  )
  return new URL(`http://[${groups.join(':')}]/`).hostname.slice(1, -1)
}

function readAsWritten(text: unknown): Address | null {
  if (typeof text !== 'string') return null
  if (DOTTED_DECIMAL.test(text))
    return { family: 4, value: joinBits(text.split('.').map(BigInt), 8n) }
  if (!/^[\da-f:.]*:[\da-f:.]*$/i.test(text) || !URL.canParse(`http://[${text}]/`)) return null
  const [left = '', right] = new URL(`http://[${text}]/`).hostname.slice(1, -1).split('::')
  const head = left.split(':').filter(Boolean)
  const tail = right?.split(':').filter(Boolean) ?? []
  const zeros = Array<string>(8 - head.length - tail.length).fill('0')
  const groups = [...head, ...zeros, ...tail].map((group) => BigInt(`0x${group}`))
  return { family: 6, value: joinBits(groups, 16n) }
}

/** Converts IPv4-mapped addresses and ranges to IPv4. */
function unmapped(range: Range): Range {
  const isMapped = range.family === 6 && range.prefix >= 96 && range.value >> 32n === 0xffffn
  return isMapped
    ? { family: 4, value: range.value & 0xffffffffn, prefix: range.prefix - 96 }
    : range
}

function joinBits(parts: bigint[], width: bigint): bigint {
  return parts.reduce((value, part) => (value << width) | part, 0n)
}

function bitsOf({ family }: Address): number {
  return family === 4 ? 32 : 128
}
