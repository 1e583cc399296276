import { isAlias, isNode, isScalar, visit, type Document, type YAMLMap } from 'yaml'

/** A fault that makes a text unreadable. */
export interface SyntaxFault {
  /** Lower-case sentence without a full stop. */
  readonly message: string
  /** Offset into the text in UTF-16 code units. */
  readonly offset: number
}

/**
 * Finds constructs that JSON lacks or that two readers could read differently: repeated members,
 * aliases, tags. They are refused so that the applied policy is the one that a reviewer sees.
 */
export function findSyntaxFaults(document: Document.Parsed): SyntaxFault[] {
  const found = [...document.errors, ...document.warnings].map(({ message, pos }): SyntaxFault => ({
    message: lowerFirst(message),
    offset: pos[0],
  }))
  if (found.length > 0) return found
  visit(document, {
    Node(_key, node) {
      const [offset] = node.range ?? [0]
      if (isAlias(node))
        found.push({ message: `alias \`*${node.source}\` is not read; write it out`, offset })
      else if (node.anchor !== undefined)
        found.push({ message: `anchor \`&${node.anchor}\` is not read; leave it out`, offset })
      if (node.tag !== undefined)
        found.push({ message: `tag \`${node.tag}\` is not read; leave it out`, offset })
    },
    Map(_key, map) {
      found.push(...findRepeated(map))
    },
  })
  return found
}

function findRepeated(map: YAMLMap): SyntaxFault[] {
  const seen = new Set<string>()
  return map.items.flatMap(({ key }) => {
    const name = isScalar(key) ? String(key.value) : String(key)
    if (!seen.has(name)) {
      seen.add(name)
      return []
    }
    const [offset] = isNode(key) ? (key.range ?? [0]) : [0]
    return [{ message: `member \`${name}\` stands twice`, offset }]
  })
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1).replace(/\.$/, '')
}
