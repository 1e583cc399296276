import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import type { Violation } from './import-rules.ts'
import type { SourceFile } from './workspace.ts'

/** Installed or generated folders; a document may name a path in them. */
const NOT_LISTED = new Set(['node_modules', 'dist', 'coverage'])
const SOURCE_NAME = /^[\w@.-]+(?:\/[\w@.-]+)*\.(?:ts|mts|mjs)$/

/** The Markdown documents of a repository and every path in it. */
export interface Documents {
  readonly files: readonly SourceFile[]
  /** Files and folders relative to the root, without a trailing `/`. */
  readonly paths: ReadonlySet<string>
}

export function readDocuments(root: string): Documents {
  const paths = listPaths(root, '')
  const files = paths
    .filter((path) => path.endsWith('.md'))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
  return { files, paths: new Set(paths) }
}

function listPaths(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter(({ name }) => !name.startsWith('.') && !NOT_LISTED.has(name))
    .flatMap((entry) => {
      const path = posix.join(folder, entry.name)
      return entry.isDirectory() ? [path, ...listPaths(root, path)] : [path]
    })
}

/**
 * A relative link must lead to a file or folder of the repository, and its fragment to a heading.
 */
export function deadLinks({ files, paths }: Documents): Violation[] {
  const anchors = new Map(files.map(({ path, text }) => [path, anchorsOf(text)]))
  return files.flatMap((file) =>
    linksOf(file.text).flatMap((link) => {
      const [target = '', fragment] = link.split('#', 2)
      const path = target === '' ? file.path : posix.join(posix.dirname(file.path), target)
      const isFound = paths.has(path.replace(/\/$/, ''))
      const isAnchored = fragment === undefined || (anchors.get(path)?.has(fragment) ?? true)
      return isFound && isAnchored ? [] : [`${file.path}: links to ${link}, which does not exist`]
    }),
  )
}

/**
 * Code in back-ticks that begins with a folder of the root must be a path of the repository. The
 * name of a source may omit the folders before it.
 */
export function deadPaths({ files, paths }: Documents): Violation[] {
  const folders = [...paths].filter((path) => !path.includes('/') && !path.includes('.'))
  const tails = new Set([...paths].flatMap(tailsOf))
  return files.flatMap((file) =>
    codeOf(file.text).flatMap((code) => {
      const path = code.replace(/\/$/, '')
      const isRooted =
        /^[\w@./-]+$/.test(path) && folders.some((each) => path.startsWith(`${each}/`))
      const isFound = isRooted ? paths.has(path) || isGenerated(path) : tails.has(path)
      const isPath = isRooted || SOURCE_NAME.test(path)
      return !isPath || isFound ? [] : [`${file.path}: names ${code}, which does not exist`]
    }),
  )
}

/** Limits of words and lines for a document; further text belongs in `docs/`. */
const SIZES: Readonly<Record<string, { readonly words: number; readonly lines: number }>> = {
  'README.md': { words: 900, lines: Infinity },
  'ARCHITECTURE.md': { words: 1800, lines: Infinity },
  'CHANGELOG.md': { words: Infinity, lines: 120 },
}

/** The pages for every reader must stay short. */
export function longDocuments({ files }: Pick<Documents, 'files'>): Violation[] {
  return files.flatMap(({ path, text }) => {
    const size = SIZES[path]
    if (size === undefined) return []
    const words = text.trim().split(/\s+/).length
    const lines = text.trimEnd().split('\n').length
    return words <= size.words && lines <= size.lines
      ? []
      : [`${path}: has ${words} words in ${lines} lines`]
  })
}

function tailsOf(path: string): string[] {
  const parts = path.split('/')
  return parts.map((_part, index) => parts.slice(index).join('/'))
}

function isGenerated(path: string): boolean {
  return path.split('/').some((part) => part.startsWith('.') || NOT_LISTED.has(part))
}

function linksOf(text: string): string[] {
  const prose = withoutFences(text).replaceAll(/`[^`\n]*`/g, '')
  return [...prose.matchAll(/\]\((?<link>[^)\s]+)(?:\s[^)]*)?\)/g)]
    .map((match) => match.groups?.['link'] ?? '')
    .filter((link) => !/^[a-z]+:/.test(link))
}

function codeOf(text: string): string[] {
  return [...withoutFences(text).matchAll(/`(?<code>[^`\n]+)`/g)].map(
    (match) => match.groups?.['code'] ?? '',
  )
}

/** The fragments that GitHub derives from headings; equal headings are numbered. */
function anchorsOf(text: string): ReadonlySet<string> {
  const anchors = new Set<string>()
  for (const { groups } of withoutFences(text).matchAll(/^#+ (?<heading>.*)$/gm)) {
    const slug = (groups?.['heading'] ?? '')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-')
    let anchor = slug
    for (let count = 1; anchors.has(anchor); count += 1) anchor = `${slug}-${count}`
    anchors.add(anchor)
  }
  return anchors
}

function withoutFences(text: string): string {
  return text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, '')
}
