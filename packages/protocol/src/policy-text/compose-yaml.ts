import { Composer, CST, Lexer, Parser, type Document } from 'yaml'

/** Maximum nesting. Palisade documents need nine levels. */
const MAX_DEPTH = 32

/** A text that cannot be read as YAML at all. */
export class YamlDepthError extends Error {
  override readonly name = 'YamlDepthError'
  /** Offset into the text in UTF-16 code units. */
  readonly offset: number

  constructor(offset: number) {
    super(`nesting is deeper than ${MAX_DEPTH} levels`)
    this.offset = offset
  }
}

/**
 * Composes the documents of a YAML 1.2 text with their comments and positions. Faults are in their
 * `errors` and `warnings`. Throws YamlDepthError for excessive nesting.
 */
export function composeYaml(text: string): Document.Parsed[] {
  const composer = new Composer({
    version: '1.2',
    schema: 'core',
    stringKeys: true,
    // Compares every key with every other; `findSyntaxFaults` does it with a set.
    uniqueKeys: false,
    prettyErrors: false,
  })
  return [...composer.compose(parse(text), false, text.length)]
}

/**
 * The composer recurses for each level and takes exponential time for some texts: 2 kB of `? ` keep
 * it busy for minutes. Depth is therefore bounded before composing.
 */
function* parse(text: string): Generator<CST.Token> {
  const parser = new Parser()
  const guard = createGuard()
  let offset = 0
  for (const lexeme of new Lexer().lex(text)) {
    guard(lexeme, offset)
    offset += lexeme.length
    for (const token of parser.next(lexeme)) yield requireShallow(token)
  }
  for (const token of parser.end()) yield requireShallow(token)
}

/**
 * Bounds what one line can open; deeper block nesting takes as many lines, ever further indented.
 */
function createGuard(): (lexeme: string, offset: number) => void {
  let flow = 0
  let inLine = 0
  return (lexeme, offset) => {
    switch (CST.tokenType(lexeme)) {
      case 'flow-seq-start':
      case 'flow-map-start':
        flow += 1
        break
      case 'flow-seq-end':
      case 'flow-map-end':
        flow -= 1
        break
      case 'seq-item-ind':
      case 'explicit-key-ind':
      case 'anchor':
      case 'tag':
        inLine += 1
        break
      case 'newline':
        inLine = 0
        break
      default:
    }
    if (flow > MAX_DEPTH || inLine > MAX_DEPTH) throw new YamlDepthError(offset)
  }
}

function requireShallow(token: CST.Token): CST.Token {
  const pending = [{ token, depth: 0 }]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { depth } = next
    if (depth > MAX_DEPTH) throw new YamlDepthError(next.token.offset)
    if (next.token.type === 'document') push(next.token.value, depth)
    if (!('items' in next.token)) continue
    for (const item of next.token.items) {
      push(item.key ?? undefined, depth)
      push(item.value, depth)
    }
  }
  return token

  function push(inner: CST.Token | undefined, depth: number): void {
    if (inner !== undefined) pending.push({ token: inner, depth: depth + 1 })
  }
}
