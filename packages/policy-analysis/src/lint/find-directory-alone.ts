import type { Action, RuleDecision } from '@palisade/policy-core'
import { quote } from '@palisade/policy-core/internal'
import { nameOf } from '../overlap/folder-tree.ts'
import type { Budget } from './budget.ts'
import { createPathIndex, type PathIndex } from './cover-index.ts'
import { createFinding, type Finding } from './finding.ts'
import { covers, intersects, type ResolvedPath } from './lint-pattern.ts'
import { eachEntry, isInForceWith, refer, type Entry, type LintSet } from './lint-rule.ts'

/** Directories whose entries without an ending are programs, settings and devices. */
const OF_FILES = new Set(['bin', 'sbin', 'etc', 'dev', 'hooks'])
/** Paths below them are mostly files, sockets and devices. */
const DIRECTORIES_OF_FILES = /^\/(?:proc|run|sys|dev|var\/(?:log|run))\//
/** Files below a directory such as `.ssh` or `.git` seldom have an ending. */
const IN_HIDDEN = /\/\.[^/]*\//
const FILE_NAMES = new Set([
  'authors',
  'changelog',
  'configure',
  'copying',
  'gradlew',
  'license',
  'mvnw',
  'notice',
  'readme',
])
/** Files without an ending are mostly `LICENSE`, `Makefile` and their kind. */
const DIRECTORY_NAME = /^(?!.*file$)[a-z][a-z0-9_-]{2,}$/

/**
 * Finds paths that look like directories and stand alone: such a pattern matches the directory and
 * not what is in it. An allow of it opens no file and no workspace, and a deny of it leaves open
 * what an allow of the whole directory opens. Policies do not know which paths are directories, so
 * this is a guess by the name, and an allow beside others below the path is taken as meant.
 */
export function findDirectoriesAlone(set: LintSet, budget: Budget): Finding[] {
  const around: Around = { allow: new Map(), deny: new Map() }
  for (const { entry, action } of [
    ...eachEntry(set.rules, 'allow'),
    ...eachEntry(set.rules, 'deny'),
  ]) {
    if (entry.pattern.kind !== 'path') continue
    const indices = around[entry.rule.decision]
    const index = indices.get(action) ?? createPathIndex()
    indices.set(action, index)
    index.add(entry, entry.pattern)
  }
  return set.rules
    .filter(({ active }) => active)
    .flatMap(({ entries }) => entries.flatMap((entry) => describe(entry, around, budget)))
}

type Around = Readonly<Record<RuleDecision, Map<Action, PathIndex>>>

function describe(entry: Entry, around: Around, budget: Budget): Finding[] {
  const content = contentOf(entry)
  if (content === null) return []
  const { rule, text } = entry
  const mend = `write ${quote(`${text}/**`)} if it is a directory`
  for (const action of rule.actions) {
    const [allows, denies] = [around.allow.get(action), around.deny.get(action)]
    if (rule.decision === 'allow') {
      if (isTouched(entry, content, allows, budget)) continue
      const message = `${quote(text)} does not allow what is in it, and no other rule does`
      return [createFinding('directory_alone', [refer(entry)], message, mend)]
    }
    const opener = coverOf(entry, content, allows, budget)
    if (opener === null || coverOf(entry, content, denies, budget) !== null) continue
    const message = `${quote(text)} does not deny what is in it, which ${quote(opener.text)} allows`
    return [createFinding('directory_alone', [refer(entry), refer(opener)], message, mend)]
  }
  return []
}

/** Whether another rule may match something in the directory. */
function isTouched(
  entry: Entry,
  content: ResolvedPath,
  index: PathIndex | undefined,
  budget: Budget,
): boolean {
  for (const other of index?.touching(content) ?? []) {
    if (other.key === entry.key) continue
    if ((budget.comparisons -= 1) < 0) return true
    if (intersects(other.pattern, content, budget) !== 'no') return true
  }
  return false
}

function coverOf(
  entry: Entry,
  content: ResolvedPath,
  index: PathIndex | undefined,
  budget: Budget,
): Entry | null {
  for (const other of index?.candidates(content) ?? []) {
    if ((budget.comparisons -= 1) < 0) return null
    const isInForce = isInForceWith(other.rule, entry.rule)
    if (isInForce && covers(other.pattern, content, budget) === 'yes') return other
  }
  return null
}

/** The pattern of all below a directory; null for a path that does not look like one. */
function contentOf({ pattern }: Entry): ResolvedPath | null {
  if (pattern.kind !== 'path') return null
  const names = pattern.segments.map(nameOf)
  const isDirectory = names.every((name) => name !== null) && isLikelyDirectory(names, pattern)
  return isDirectory ? { ...pattern, segments: [...pattern.segments, { recursive: true }] } : null
}

function isLikelyDirectory(
  names: readonly string[],
  { fromHome }: Pick<ResolvedPath, 'fromHome'>,
): boolean {
  const [parent = '', name = ''] = ['', ...names].slice(-2)
  if (!DIRECTORY_NAME.test(name) || FILE_NAMES.has(name) || OF_FILES.has(parent)) return false
  const path = `/${names.join('/')}`
  return !IN_HIDDEN.test(path) && (fromHome || !DIRECTORIES_OF_FILES.test(path))
}
