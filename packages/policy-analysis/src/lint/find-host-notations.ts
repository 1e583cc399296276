import {
  formatAddress,
  formatHostPort,
  parseAddress,
  parseHost,
  quote,
  type NetworkPattern,
} from '@palisade/policy-core/internal'
import { formatNetworkPattern } from '../pattern/format-pattern.ts'
import { createFinding, type Finding } from './finding.ts'
import { refer, type Entry, type LintRule } from './lint-rule.ts'
import { decodePunycode } from './punycode.ts'
import { describeConfusable } from './scripts.ts'

type NamePattern = NetworkPattern & { readonly kind: 'name' }

/** Completes a sentence that begins with the resource, and corrects it. */
interface Described {
  readonly what: string
  readonly mend: string
}

/** Words of firewalls and proxies for every address. As a name, each is one host. */
const EVERY: ReadonlySet<string> = new Set(
  'all any any4 any6 anywhere everything everywhere internet world'.split(' '),
)

/** Words in place of a value, as templates, shells and YAML leave them, and of a protocol. */
const NO_VALUE: ReadonlySet<string> = new Set(
  (
    'nan nil none null nothing undefined true false todo tbd placeholder changeme change_me ' +
    'replaceme replace_me http https tcp udp'
  ).split(' '),
)

/**
 * Punctuation and signs, except those that IDNA2008 permits in names (RFC 5892 §2.6, §2.7). Emoji
 * are left out, because some registries sell names with them.
 */
const NOT_IN_NAMES =
  /(?![-_\u00b7\u0375\u05f3\u05f4\u0f0b\u30fb])(?:[\p{P}\p{Sm}\p{Sc}\p{Sk}\u2800]|\p{Cf})/gu

const ENCODED = 'xn--'

/** Ports after an address; other numbers at the end of an address are rarely meant as one. */
const PORTS: ReadonlySet<string> = new Set(
  `22 25 53 80 123 389 443 465 587 636 853 993 1080 1433 1521 2049 2181 2375 2376 3000 3128 3306
  3389 4000 4200 4222 4317 4318 4443 5000 5001 5173 5432 5601 5672 5900 6379 6443 7000 7070 7474
  7687 8000 8001 8008 8080 8081 8086 8088 8090 8123 8200 8300 8333 8443 8500 8530 8888 9000 9001
  9042 9090 9092 9093 9100 9200 9300 9411 9418 9443 9999`.split(/\s+/),
)

/** Finds notations in host names that are literal text here, so that they match hardly any host. */
export function findNameNotations({ active, entries }: LintRule): Finding[] {
  if (!active) return []
  return entries.flatMap((entry) => {
    const { text, pattern } = entry
    const found = pattern.kind === 'name' ? describeNameNotation(text, pattern) : null
    if (found === null) return []
    const message = `${quote(text)} ${found.what}`
    return [createFinding('literal_syntax', [refer(entry)], message, found.mend)]
  })
}

/**
 * Finds host names with a label that reads like another name. A label written in ASCII (`xn--`)
 * is not reported, because that form cannot be mistaken.
 */
export function findConfusable(entry: Entry): Finding[] {
  const { pattern } = entry
  if (pattern.kind !== 'name' || !pattern.domain.includes('xn--')) return []
  const labels = pattern.domain.split('.')
  const topLevel = labels.at(-1) ?? ''
  const written = writtenLabels(entry.text)
  for (const [index, label] of labels.entries()) {
    if (written.at(index - labels.length) === label) continue
    const decoded = decodeLabel(label)
    const why =
      decoded === null ? null : describeConfusable(decoded, decodeLabel(topLevel) ?? topLevel)
    if (decoded === null || why === null) continue
    return [
      createFinding(
        'confusable_host',
        [refer(entry)],
        `${quote(decoded)} (${quote(label)}) in ${quote(entry.text)} ${why}`,
        `make sure that it is the name you mean, and write ` +
          `${quote(formatNetworkPattern(pattern))}, which cannot be mistaken`,
      ),
    ]
  }
  return []
}

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

/** Describes why no host of people has this name, with the correction; or null. */
function describeNameNotation(text: string, pattern: NamePattern): Described | null {
  return (
    describeWord(pattern) ??
    describeTopLevel(pattern) ??
    describeHyphens(pattern) ??
    describeCharacter(text, pattern)
  )
}

function describeWord({ domain, depth }: NamePattern): Described | null {
  if (depth !== 'exact') return null
  if (EVERY.has(domain))
    return {
      what: 'is read as the name of a host',
      mend: 'write `0.0.0.0/0` and `::/0` for every address, or name the domains',
    }
  if (NO_VALUE.has(domain) || /^[-_]+$/.test(domain))
    return {
      what: 'is read as the name of a host',
      mend: 'remove it, or write the host that is meant',
    }
  return null
}

/** No top-level domain has an underscore, and `invalid` never exists (RFC 6761 section 6.4). */
function describeTopLevel(pattern: NamePattern): Described | null {
  const { domain } = pattern
  const [, top = ''] = /\.([^.]+)$/.exec(domain) ?? []
  if (top === 'invalid')
    return {
      what: 'ends in `invalid`, which no name of the internet does',
      mend: 'write the host that is meant',
    }
  if (!top.includes('_')) return null
  const plain = domain.replace(/_\d+$/, '')
  const port = Number(domain.slice(plain.length + 1))
  const isPort = port > 0 && port < 65_536 && pattern.port === null && !plain.includes('_')
  return {
    what: 'has an underscore in its last label, which no name of the internet has',
    mend: isPort
      ? `write ${quote(formatNetworkPattern({ ...pattern, domain: plain, port }))}`
      : 'write the host that is meant',
  }
}

/** A template with an empty variable leaves such labels: `api-$STAGE.example.com`. */
function describeHyphens(pattern: NamePattern): Described | null {
  const label = pattern.domain.split('.').find((each) => /^-|-$/.test(each))
  if (label === undefined) return null
  const plain = pattern.domain.replace(/^-+\.?/, '')
  const isMarked = pattern.domain.startsWith('-') && parseHost(plain)?.kind === 'name'
  return {
    what: `has a label with a hyphen at its ${label.startsWith('-') ? 'beginning' : 'end'}`,
    mend: isMarked
      ? `write ${quote(formatNetworkPattern({ ...pattern, domain: plain }))}; ` +
        'a rule that excludes it is a deny'
      : 'write the name that is meant',
  }
}

/** A label written in ASCII (`xn--`) is not reported: it is never written by mistake. */
function describeCharacter(text: string, pattern: NamePattern): Described | null {
  if (!pattern.domain.includes('xn--')) return null
  const labels = pattern.domain.split('.')
  const written = writtenLabels(text)
  const decoded = labels.map((label, index) =>
    written.at(index - labels.length) === label ? label : (decodeLabel(label) ?? label),
  )
  const odd = decoded.join('').match(NOT_IN_NAMES)?.[0]
  if (odd === undefined) return null
  const plain = decoded
    .map((label) => label.replace(/[\p{Pd}\u2212]/gu, '-').replace(NOT_IN_NAMES, ''))
    .join('.')
  const host = parseHost(plain)
  return {
    what: `has ${quote(odd)}, which no host name has`,
    mend:
      host?.kind === 'name'
        ? `write ${quote(formatNetworkPattern({ ...pattern, domain: plain }))}`
        : 'write the name without it',
  }
}

function describeSwallowed(text: string): Described | null {
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

/** The labels as written, including wildcards, without the port. */
function writtenLabels(text: string): readonly string[] {
  return text.toLowerCase().replace(/:\d+$/, '').replace(/\.$/, '').split('.')
}

/** Decodes a label to Unicode; null when the label is plain ASCII. */
function decodeLabel(label: string): string | null {
  return label.startsWith(ENCODED) ? decodePunycode(label.slice(ENCODED.length)) : null
}
