import { formatAddress, parseAddress } from '../address/ip-address.ts'
import { formatHostPort } from '../host/host.ts'
import { quote } from '../quote.ts'
import { createFinding, type Finding } from './finding.ts'
import { refer, type LintRule } from './lint-rule.ts'

/** Ports after an address; other numbers at the end of an address are rarely meant as one. */
const PORTS: ReadonlySet<string> = new Set(
  `22 25 53 80 123 389 443 465 587 636 853 993 1080 1433 1521 2049 2181 2375 2376 3000 3128 3306
  3389 4000 4200 4222 4317 4318 4443 5000 5001 5173 5432 5601 5672 5900 6379 6443 7000 7070 7474
  7687 8000 8001 8008 8080 8081 8086 8088 8090 8123 8200 8300 8333 8443 8500 8530 8888 9000 9001
  9042 9090 9092 9093 9100 9200 9300 9411 9418 9443 9999`.split(/\s+/),
)

/**
 * Finds IPv6 addresses whose last group looks like a port. The long form of an address, without
 * `::`, is not reported.
 */
export function findSwallowedPort(rule: LintRule): Finding[] {
  if (!rule.active) return []
  return rule.entries.flatMap((entry) => {
    const swallowed = entry.pattern.kind === 'range' ? describeSwallowed(entry.text) : null
    if (swallowed === null) return []
    const message = `${quote(entry.text)} ${swallowed.what}`
    return [createFinding('port_in_address', [refer(entry)], message, swallowed.mend)]
  })
}

function describeSwallowed(text: string): { what: string; mend: string } | null {
  if (!text.includes('::') || /[[/]/.test(text)) return null
  const colon = text.lastIndexOf(':')
  const port = text.slice(colon + 1)
  const address = parseAddress(text.slice(0, colon))
  const whole = parseAddress(text)
  if (address?.family !== 6 || whole?.family !== 6) return null
  const isShort = text.startsWith('::') && text.indexOf(':', 2) === colon
  if (!PORTS.has(port) && !(isShort && /^[1-9]\d{1,3}$/.test(port))) return null
  const meant = formatHostPort(formatAddress(address), Number(port))
  return {
    what: `is one address on every port, not port ${port} of ${quote(text.slice(0, colon))}`,
    mend: `write ${quote(meant)} for the port, or ${quote(longForm(whole.value))} for the address`,
  }
}

/** All eight groups. */
function longForm(value: bigint): string {
  return Array.from({ length: 8 }, (_, index) =>
    ((value >> BigInt(112 - 16 * index)) & 0xffffn).toString(16),
  ).join(':')
}
