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

/** Limits of words for pages that people write; a page that needs more says something twice. */
const MOST_WORDS: Readonly<Record<string, number>> = {
  'README.md': 880,
  'ARCHITECTURE.md': 1570,
  'CONTRIBUTING.md': 1800,
  'SECURITY.md': 1120,
  'bench/README.md': 1800,
  'server/README.md': 1740,
  'server/API.md': 260,
  'docs/access.md': 740,
  'docs/agent-states.md': 1480,
  'docs/decision.md': 850,
  'docs/distribution.md': 920,
  'docs/evidence.md': 2610,
  'docs/integrations.md': 820,
  'docs/on-a-machine.md': 1430,
  'docs/operations.md': 3520,
  'docs/profiles.md': 370,
  'docs/proxy.md': 1070,
  'docs/rule-life.md': 610,
  'docs/sandbox.md': 3430,
  'docs/service.md': 510,
  'docs/store.md': 820,
  'docs/suggestions.md': 760,
}
const MOST_LINES: Readonly<Record<string, number>> = { 'CHANGELOG.md': 120 }
/** Pages of `docs/` that a program writes. */
const GENERATED_PAGES = new Set(['docs/doctor-screens.md'])

export function longDocuments({ files }: Pick<Documents, 'files'>): Violation[] {
  return files.flatMap(({ path, text }) => {
    const words = text.trim().split(/\s+/).length
    const lines = text.trimEnd().split('\n').length
    const isLong = words > (MOST_WORDS[path] ?? Infinity) || lines > (MOST_LINES[path] ?? Infinity)
    return isLong ? [`${path}: has ${words} words in ${lines} lines`] : []
  })
}

/** A page without a limit would grow unseen. */
export function unlimitedDocuments({ files }: Pick<Documents, 'files'>): Violation[] {
  return files
    .filter(({ path }) => path.startsWith('docs/') && !GENERATED_PAGES.has(path))
    .filter(({ path }) => MOST_WORDS[path] === undefined)
    .map(({ path }) => `${path}: has no limit of words`)
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
