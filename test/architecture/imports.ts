import { posix } from 'node:path'
import type { SourceFile } from './workspace.ts'

const STATIC = /^(?:import|export)\b[^'"`;]*?from\s*['"]([^'"]+)['"]/gm
const BARE = /^import\s*['"]([^'"]+)['"]/gm
const DYNAMIC = /\bimport\(\s*['"]([^'"]+)['"]\s*\)/g

/** The imports of a file as written, including type imports and types in JSDoc. */
export function importsOf(file: SourceFile): string[] {
  const found = [STATIC, BARE, DYNAMIC].flatMap((form) => [...file.text.matchAll(form)])
  return found.flatMap((match) => (match[1] === undefined ? [] : [match[1]]))
}

/** The static imports of a file, without those of types alone. */
export function valueImportsOf(file: SourceFile): string[] {
  const found = [STATIC, BARE].flatMap((form) => [...file.text.matchAll(form)])
  return found
    .filter(([text]) => !/^(?:import|export)\s+type\b/.test(text))
    .flatMap((match) => (match[1] === undefined ? [] : [match[1]]))
}

/** The file of a relative import, or null for a package. */
export function resolveRelative(file: SourceFile, specifier: string): string | null {
  return specifier.startsWith('.') ? posix.join(posix.dirname(file.path), specifier) : null
}

/** `@scope/name` or `name` of a package import. */
export function packageOf(specifier: string): string {
  const parts = specifier.split('/')
  return parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/')
}

/** The folder of the workspace package that a file belongs to. */
export function folderOf(path: string): string {
  const [top = '', second = ''] = path.split('/')
  return top === 'packages' || top === 'examples' ? `${top}/${second}` : top
}

/** The files that a file imports, directly or not, without those that only types come from. */
export function reachable(files: readonly SourceFile[], path: string): string[] {
  const byPath = new Map(files.map((file) => [file.path, file]))
  const found = new Set<string>()
  const visit = (each: string): void => {
    const file = byPath.get(each)
    if (file === undefined || found.has(each)) return
    found.add(each)
    for (const specifier of valueImportsOf(file)) {
      const target = resolveRelative(file, specifier)
      if (target !== null) visit(target)
    }
  }
  visit(path)
  return [...found]
}
