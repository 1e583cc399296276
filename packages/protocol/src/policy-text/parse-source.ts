import { parseJson } from '../json/parse-json.ts'
import { isMap, isNode, isScalar, isSeq, LineCounter, type Document, type Node } from 'yaml'
import { composeYaml, YamlDepthError } from './compose-yaml.ts'
import { findSyntaxFaults, type SyntaxFault } from './syntax-faults.ts'

/** One document of a text, with the positions of its parts. */
export interface SourceDocument {
  readonly value: unknown
  /** Offset of the value at `path`, or of its nearest existing ancestor. */
  offsetOf(path: readonly PropertyKey[]): number
}

/** Lines and columns count from 1. */
export interface Position {
  readonly line: number
  readonly column: number
}

export interface ParsedSource {
  readonly documents: readonly SourceDocument[]
  /** Empty when everything could be read. */
  readonly faults: readonly SyntaxFault[]
  positionOf(offset: number): Position
}

/** Reads JSON, or the documents of a YAML text; empty ones are left out. Never throws. */
export function parseSource(text: string, format: 'json' | 'yaml'): ParsedSource {
  const source = format === 'json' ? parseJsonSource(text) : parseYamlSource(text)
  return { ...source, positionOf: positionIn(text) }
}

type Parsed = Omit<ParsedSource, 'positionOf'>

function parseJsonSource(text: string): Parsed {
  const json = parseJson(text)
  if (!json.ok) {
    const message = json.problem.message.replace(/ at line \d+, column \d+$/, '')
    return { documents: [], faults: [{ message, offset: json.problem.offset }] }
  }
  // JSON is YAML, so one reader finds the positions of both. Most files need no positions.
  let contents: unknown
  const offset = (path: readonly PropertyKey[]): number => {
    contents ??= composeYaml(text)[0]?.contents
    return offsetOf(contents, path)
  }
  return { documents: [{ value: json.value, offsetOf: offset }], faults: [] }
}

function parseYamlSource(text: string): Parsed {
  try {
    const documents = composeYaml(text)
    const faults = documents.flatMap(findSyntaxFaults)
    return {
      documents: faults.length > 0 ? [] : documents.filter(hasContents).map(toSource),
      faults,
    }
  } catch (error) {
    if (!(error instanceof YamlDepthError)) throw error
    return { documents: [], faults: [{ message: error.message, offset: error.offset }] }
  }
}

function hasContents({ contents }: Document.Parsed): boolean {
  return !(contents === null || (isScalar(contents) && contents.value === null))
}

function toSource(document: Document.Parsed): SourceDocument {
  return {
    value: document.toJS({ maxAliasCount: 0 }) as unknown,
    offsetOf: (path) => offsetOf(document.contents, path),
  }
}

function offsetOf(root: unknown, path: readonly PropertyKey[]): number {
  let node: unknown = root
  let offset = startOf(root) ?? 0
  for (const key of path) {
    const inner = innerOf(node, key)
    if (inner === null) break
    offset = inner.offset
    node = inner.node
  }
  return offset
}

/** The position of a member is its name; the position of an element is its beginning. */
function innerOf(node: unknown, key: PropertyKey): { node: unknown; offset: number } | null {
  if (isSeq(node) && typeof key === 'number') {
    const item = node.items[key]
    const offset = startOf(item)
    return offset === null ? null : { node: item, offset }
  }
  if (!isMap(node)) return null
  const pair = node.items.find((item) => isScalar(item.key) && item.key.value === key)
  const offset = startOf(pair?.key)
  return pair === undefined || offset === null ? null : { node: pair.value, offset }
}

function startOf(node: unknown): number | null {
  return isNode(node) ? ((node as Node).range?.[0] ?? null) : null
}

/** Lines are counted at the first question, because a correct file needs no positions. */
function positionIn(text: string): (offset: number) => Position {
  let lines: LineCounter | undefined
  return (offset) => {
    lines ??= countLines(text)
    const { line, col } = lines.linePos(offset)
    return { line, column: col }
  }
}

function countLines(text: string): LineCounter {
  const lines = new LineCounter()
  lines.addNewLine(0)
  for (const { index } of text.matchAll(/\n/g)) lines.addNewLine(index + 1)
  return lines
}
