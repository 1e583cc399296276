import {
  compilePolicy,
  pathDenies,
  type Decision,
  type DecisionRequest,
  type DenyPlace,
  type PathDenies,
} from '@palisade/policy-core'
import { GUARDED_PATHS } from './guarded-programs.ts'
import { COMMON_DIRECTORY, REPOSITORY } from './repository.ts'

export const HOOKS = 'hooks'
export const SETTINGS = 'config'
/** The settings of one working tree, where the extension `worktreeConfig` is on. */
export const TREE_SETTINGS = 'config.worktree'
/** Attributes say to which files git applies the programs of its settings. */
export const INFORMATION = 'info'
const ATTRIBUTES = 'attributes'
/** Parts of a repository that decide which programs git runs, by their names in its directory. */
export const GIT_PARTS: readonly string[] = [HOOKS, SETTINGS, TREE_SETTINGS, COMMON_DIRECTORY]
/** The same part in a directory of its own. */
export const GIT_ATTRIBUTES = `${INFORMATION}/${ATTRIBUTES}`

/** Directories of many programs, whose name alone opens none of the guarded paths in them. */
const SHARED: ReadonlySet<string> = new Set(['.config', '.github', '.yarn'])

/** The guarded names at any depth, and these paths, as denies of `write`. */
export function guardedPaths(paths: readonly string[] = []): PathDenies {
  const resources = [
    ...paths.map(patternOf),
    ...GUARDED_PATHS.map((names) => `/**/${names.join('/')}`),
    ...[...GIT_PARTS, GIT_ATTRIBUTES].flatMap((part) => [
      `/**/${REPOSITORY}/${part}`,
      `/**/${REPOSITORY}/modules/**/${part}`,
      `/**/${REPOSITORY}/worktrees/*/${part}`,
    ]),
  ]
  const rule = {
    id: 'guarded',
    name: 'guarded names',
    actions: ['write'],
    decision: 'deny',
    resources,
  } as const
  const policy = { id: 'guarded', name: 'guarded names', allowlist_v0: { rules: [rule] } }
  return pathDenies(compilePolicy({ policies: [policy] }))
}

/** Stands for any name that no pattern spells. */
const OTHER_NAME = 'palisade-another-name'

/**
 * Whether guarded paths spell the name as a directory. A symbolic link of this name is guarded
 * itself: programs outside would find names behind it that no pattern matches.
 */
export function isAboveGuarded(guarded: PathDenies, directory: DenyPlace, name: string): boolean {
  const guard = guarded.below(directory, name)
  return !guard.denies.write && guard !== guarded.below(directory, OTHER_NAME)
}

/** No pattern names a star alone, so one stands for any characters, itself among them. */
function patternOf(path: string): string {
  return path.replaceAll(/\*+/g, '*')
}

/** Returns whether a rule that allows `write` spells the name that makes a path guarded. */
export function openedByRule(
  decide: (request: DecisionRequest) => Pick<Decision, 'decision' | 'rules'>,
): (path: string) => boolean {
  return (path) => {
    const { decision, rules } = decide({ action: 'write', path })
    if (decision !== 'allow') return false
    const names = guardingNames(path)
    return rules.some(({ resource }) => resource.split('/').some((name) => names.includes(name)))
  }
}

/** The name that makes a path guarded, with which a rule can open it, and its pattern. */
function guardingNames(path: string): readonly string[] {
  const names = path.split('/')
  const last = names.length - 1
  for (let at = last; at >= 0; at -= 1) {
    if (names[at] === REPOSITORY) return [REPOSITORY]
    for (const guarded of GUARDED_PATHS) {
      if (!guarded.every((pattern, index) => fits(names[at + index], pattern))) continue
      const [first = ''] = guarded
      const part = SHARED.has(first) ? guarded.length - 1 : 0
      return [names[at + part] ?? '', guarded[part] ?? '']
    }
  }
  return [names[last] ?? REPOSITORY]
}

/** Whether the name fits a pattern with one star at most. */
function fits(name: string | undefined, pattern: string): boolean {
  if (name === undefined) return false
  const [before = '', after] = pattern.split('*')
  if (after === undefined) return name === pattern
  return (
    name.length >= before.length + after.length && name.startsWith(before) && name.endsWith(after)
  )
}
