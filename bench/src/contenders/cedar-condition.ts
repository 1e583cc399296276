import type { DomainName } from '../case.ts'

/**
 * One of our patterns as a Cedar condition with the same meaning. Cedar's `like` has a `*` that
 * crosses every border, so the context also says what is above (`parent`) and how many segments
 * there are (`depth`). Throws where even that does not suffice.
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

/** What Cedar is told of a request. */
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
  // As many slashes as the pattern has leave its stars none: each stays inside its segment.
  if (!segments.includes('**'))
    return `context.path like "${pattern}" && context.depth == ${segments.length}`
  const last = segments.at(-1) ?? ''
  if (last === '**' || !last.includes('*')) return anyOf('path', segments)
  if (last.lastIndexOf('*') > 0) throw new Error(`cedar cannot express \`${pattern}\``)
  return `${anyOf('parent', segments.slice(0, -1))} && context.path like "${last}"`
}

/** `**` is nothing at all, or `*` over one or more whole segments. */
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
