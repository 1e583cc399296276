import type { DomainName } from '../../workload/domain.ts'

/**
 * Translates a pattern to a Cedar condition with the same meaning. The `*` of Cedar's `like`
 * crosses label and segment boundaries, so the context adds the enclosing name (`parent`) and the
 * number of segments (`depth`). Throws when these do not suffice.
 */
export function cedarCondition(domain: DomainName, pattern: string): string {
  switch (domain) {
    case 'hosts':
      return hostCondition(pattern)
    case 'addresses':
      return `context.address.isInRange(ip("${pattern}"))`
    case 'paths':
      return pathCondition(pattern)
  }
}

/** Builds the Cedar context of a request. */
export function cedarContext(domain: DomainName, text: string): Record<string, unknown> {
  switch (domain) {
    case 'hosts':
      return { host: text, parent: text.slice(text.indexOf('.') + 1) }
    case 'addresses':
      return { address: { __extn: { fn: 'ip', arg: text } } }
    case 'paths':
      return {
        path: text,
        parent: text.slice(0, text.lastIndexOf('/')),
        depth: text.split('/').length - 1,
      }
  }
}

function hostCondition(pattern: string): string {
  if (pattern.startsWith('**.')) return `context.host like "*${pattern.slice(2)}"`
  if (pattern.startsWith('*.')) return `context.parent == "${pattern.slice(2)}"`
  return `context.host == "${pattern}"`
}

function pathCondition(pattern: string): string {
  if (!pattern.includes('*')) return `context.path == "${pattern}"`
  const segments = pattern.slice(1).split('/')
  // With as many slashes as the pattern has, no `*` can cross a segment boundary.
  if (!segments.includes('**'))
    return `context.path like "${pattern}" && context.depth == ${segments.length}`
  const last = segments.at(-1) ?? ''
  if (last === '**' || !last.includes('*')) return anyOf('path', segments)
  if (last.lastIndexOf('*') > 0) throw new Error(`cedar cannot express \`${pattern}\``)
  return `${anyOf('parent', segments.slice(0, -1))} && context.path like "${last}"`
}

/** `**` is either empty, or `*` over one or more complete segments. */
function anyOf(member: string, segments: readonly string[]): string {
  const texts = segments.reduce(
    (before, segment) => {
      if (segment === '**') return before.flatMap((text) => [text, `${text}/*`])
      if (segment.includes('*')) throw new Error(`cedar cannot express \`${segments.join('/')}\``)
      return before.map((text) => `${text}/${segment}`)
    },
    [''],
  )
  return `(${texts.map((text) => `context.${member} like "${text}"`).join(' || ')})`
}
