import type { DomainName } from '../case.ts'

/** Our pattern as the source of a regular expression with the same meaning, without anchors. */
export function regexpSource(domain: DomainName, pattern: string): string {
  return domain === 'paths' ? pathSource(pattern) : hostSource(pattern)
}

/** A host pattern as a glob over labels: glob matchers stop a `*` at `/`, never at `.`. */
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
