import { canonicalHost } from '@palisade/policy-core'
import { isIP } from 'node:net'
import { usageError } from '../runtime/cli-error.ts'

/** `name`, `*.name` or an address, each with a port if wanted; an IPv6 address in brackets then. */
const ENTRY = /^(?:\[([0-9a-f:.]+)\]|(\*\.)?([^\s:*[\]]+))(?::([1-9][0-9]{0,4}))?$/

const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * Checks an entry of srt's list of hosts, which would end the stream at a wrong one. `*.name` means
 * every name below `name` there, at any depth. Throws exit 2.
 */
export function parseSrtDomain(text: string): string {
  const entry = text.toLowerCase()
  if (isIP(entry) !== 0) return entry
  const [, address, wildcard, name = '', port = '1'] = ENTRY.exec(entry) ?? []
  const isHost =
    address === undefined ? isNameOf(name, wildcard !== undefined) : isIP(address) === 6
  if (isHost && Number(port) <= 65_535) return entry
  throw usageError(
    `\`${text}\` is no host for srt; write \`example.com\`, \`*.example.com\` or \`192.0.2.7:443\``,
  )
}

/** Below a wildcard srt wants two labels; elsewhere it takes an IPv4 address too. */
function isNameOf(name: string, isBelow: boolean): boolean {
  if (isIP(name) === 4) return !isBelow
  const labels = name.split('.')
  const isName = canonicalHost(name) !== null && labels.every((label) => LABEL.test(label))
  return isName && /^[a-z]/.test(labels.at(-1) ?? '') && (labels.length > 1 || !isBelow)
}
