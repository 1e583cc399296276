import { readFileSync } from 'node:fs'
import { parseSync } from 'rolldown/utils'

type Parsed = ReturnType<typeof parseSync>
type Statement = Parsed['program']['body'][number]
type Exported = Extract<Statement, { type: 'ExportNamedDeclaration' }>
type Declaration = NonNullable<Exported['declaration']>
type Kind = 'function' | 'class' | 'constant' | 'type'

/** One export of a package, as its source declares it. */
export interface ApiDeclaration {
  readonly name: string
  readonly kind: Kind
  /** Markdown of its docstring, or an empty string. */
  readonly doc: string
  /** TypeScript without internals: no bodies, no constructors, no members of an `@opaque` type. */
  readonly signature: string
  /** Names of the types in the signature, in the order of their first use. */
  readonly mentions: readonly string[]
}

interface Source {
  readonly text: string
  readonly parsed: Parsed
}

interface Span {
  readonly start: number
  readonly end: number
}

const OPAQUE = /^@opaque$/m

/** Reads all exports of `index.ts` in order. */
export function readDeclarations(index: URL): ApiDeclaration[] {
  return readSource(index).parsed.program.body.flatMap((statement) => {
    if (statement.type !== 'ExportNamedDeclaration' || statement.source === null)
      throw new Error('index.ts has a statement other than `export { … } from`')
    const source = readSource(new URL(statement.source.value, index))
    return statement.specifiers.map(({ exported }) =>
      declarationOf(exported.type === 'Literal' ? exported.value : exported.name, source),
    )
  })
}

function readSource(url: URL): Source {
  const text = readFileSync(url, 'utf8')
  const parsed = parseSync(url.pathname, text)
  const [error] = parsed.errors
  if (error !== undefined) throw new Error(`${url.pathname}: ${error.message}`)
  return { text, parsed }
}

function declarationOf(name: string, source: Source): ApiDeclaration {
  for (const statement of source.parsed.program.body) {
    if (statement.type !== 'ExportNamedDeclaration' || statement.declaration === null) continue
    const { declaration } = statement
    if (nameOf(declaration) !== name) continue
    const doc = docBefore(statement, source)
    const hidden = hiddenIn(declaration, OPAQUE.test(doc), source)
    return {
      name,
      kind: kindOf(declaration),
      doc: doc.replace(OPAQUE, '').trim(),
      signature: textWithout(hidden, declaration, source),
      mentions: mentionsIn(declaration, hidden),
    }
  }
  throw new Error(`\`${name}\` is not declared in the file that index.ts names`)
}

function nameOf(declaration: Declaration): string | undefined {
  if (declaration.type !== 'VariableDeclaration')
    return 'id' in declaration && declaration.id?.type === 'Identifier'
      ? declaration.id.name
      : undefined
  const id = declaration.declarations[0]?.id
  return id?.type === 'Identifier' ? id.name : undefined
}

function kindOf(declaration: Declaration): Kind {
  switch (declaration.type) {
    case 'FunctionDeclaration':
      return 'function'
    case 'ClassDeclaration':
      return 'class'
    case 'VariableDeclaration':
      return 'constant'
    case 'TSInterfaceDeclaration':
    case 'TSTypeAliasDeclaration':
      return 'type'
    default:
      throw new Error(`the API page cannot show a ${declaration.type}`)
  }
}

/** Ranges of internals: bodies, constructors, members of an `@opaque` type. */
function hiddenIn(declaration: Declaration, isOpaque: boolean, source: Source): Span[] {
  if (declaration.type === 'FunctionDeclaration')
    return declaration.body === null ? [] : [declaration.body]
  if (declaration.type !== 'ClassDeclaration' && declaration.type !== 'TSInterfaceDeclaration')
    return []
  return declaration.body.body
    .filter((member) => isOpaque || member.type === 'MethodDefinition')
    .map((member) => ({
      start: commentBefore(member, source)?.start ?? member.start,
      end: member.end,
    }))
}

function textWithout(hidden: readonly Span[], { start, end }: Span, { text }: Source): string {
  let from = start
  let kept = ''
  for (const span of hidden) {
    kept += text.slice(from, span.start)
    from = span.end
  }
  return (kept + text.slice(from, end)).trim()
}

function docBefore(span: Span, source: Source): string {
  const comment = commentBefore(span, source)
  if (comment === undefined) return ''
  return comment.value
    .slice(1)
    .replaceAll(/^[ \t]*\* ?/gm, '')
    .trim()
}

/** The docstring that ends directly before the declaration. */
function commentBefore({ start }: Span, { text, parsed }: Source) {
  return parsed.comments.findLast(
    ({ type, value, end }) =>
      type === 'Block' &&
      value.startsWith('*') &&
      end <= start &&
      text.slice(end, start).trim() === '',
  )
}

function mentionsIn(declaration: Declaration, hidden: readonly Span[]): string[] {
  const found = new Set<string>()
  const own = new Set([nameOf(declaration), 'const'])
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const { type, start, name, typeName, expression } = node as Readonly<Record<string, unknown>>
    if (hidden.some((span) => typeof start === 'number' && start >= span.start && start < span.end))
      return
    if (type === 'TSTypeParameter') own.add(identifierOf(name))
    if (type === 'TSTypeReference') found.add(identifierOf(typeName))
    if (type === 'TSInterfaceHeritage') found.add(identifierOf(expression))
    for (const child of Object.values(node)) visit(child)
  }
  visit(declaration)
  return [...found].filter((name) => !own.has(name))
}

function identifierOf(node: unknown): string {
  const { name } = node as { readonly name?: unknown }
  if (typeof name === 'string') return name
  throw new Error('a signature names a type by more than one identifier')
}
