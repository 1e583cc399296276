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
