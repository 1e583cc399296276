import { posix } from 'node:path'

/** Returns links between Markdown pages whose page or heading does not exist, as `page: link`. */
export function brokenLinks(pages: readonly string[], read: (page: string) => string): string[] {
  const anchors = new Map(pages.map((page) => [page, anchorsOf(read(page))]))
  return pages.flatMap((page) =>
    linksOf(read(page))
      .filter((link) => {
        const [path = '', anchor] = link.split('#')
        const target = path === '' ? page : posix.join(posix.dirname(page), path)
        const found = anchors.get(target)
        return found === undefined || (anchor !== undefined && !found.has(anchor))
      })
      .map((link) => `${page}: ${link}`),
  )
}

function linksOf(text: string): string[] {
  const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target)
  return targets.filter((target) => !/^https?:/.test(target))
}

/** Anchors as GitHub creates them: a repeated anchor gets the suffix `-1`, and so on. */
function anchorsOf(text: string): ReadonlySet<string> {
  const seen: string[] = []
  const anchors = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => {
    const slug = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-')
    const earlier = seen.filter((other) => other === slug).length
    seen.push(slug)
    return earlier === 0 ? slug : `${slug}-${earlier}`
  })
  return new Set(anchors)
}
