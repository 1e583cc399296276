import { parseHost } from '../host/host.ts'
import { formatNetworkPattern } from '../pattern/format-pattern.ts'
import type { NetworkPattern } from '../pattern/network-pattern.ts'
import { quote } from '../quote.ts'
import { decodeLabel, writtenLabels } from './labels.ts'

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

/** Words for no value, as templates and shells leave them. */
const NO_VALUE: ReadonlySet<string> = new Set('nan nil none null nothing undefined'.split(' '))

/**
 * Punctuation and signs, except those that IDNA2008 permits in names (RFC 5892 §2.6, §2.7). Emoji
 * are left out, because some registries sell names with them.
 */
const NOT_IN_NAMES =
  /(?![-_\u00b7\u0375\u05f3\u05f4\u0f0b\u30fb])(?:[\p{P}\p{Sm}\p{Sc}\p{Sk}\u2800]|\p{Cf})/gu

/** Describes why no host of people has this name, with the correction; or null. */
export function describeNameNotation(text: string, pattern: NamePattern): Described | null {
  return describeWord(pattern) ?? describeHyphens(pattern) ?? describeCharacter(text, pattern)
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
