import type { DomainName } from '../../workload/domain.ts'

/** Translates a pattern to the source of an equivalent regular expression, without anchors. */
export function regexpSource(domain: DomainName, pattern: string): string {
  return domain === 'paths' ? pathSource(pattern) : hostSource(pattern)
}

/**
 * Translates a host pattern to a glob with `/` for `.`, because the `*` of a glob stops only at
 * `/`.
 */
export function hostGlob(pattern: string): string {
  const labels = pattern.replaceAll('.', '/')
  return labels.startsWith('**/') ? `*/${labels}` : labels
}

function hostSource(pattern: string): string {
  if (pattern.startsWith('**.')) return `(?:[^.]+\\.)+${escape(pattern.slice(3))}`
  return pattern.startsWith('*.') ? `[^.]+\\.${escape(pattern.slice(2))}` : escape(pattern)
}

function pathSource(pattern: string): string {
  const segments = pattern.slice(1).split('/')
  const source = segments.map((segment, index) => {
    if (segment === '**') return index === segments.length - 1 ? '(?:/.*)?' : '(?:/[^/]+)*'
    if (segment === '*') return '/[^/]+'
    return `/${segment.split('*').map(escape).join('[^/]*')}`
  })
  return source.join('')
}

function escape(text: string): string {
  return text.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`)
}
