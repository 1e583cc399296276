import { compilePolicy, pathDenies, type PathDenies } from '@palisade/policy-core'
import { COMMON_DIRECTORY, REPOSITORY } from './repository.ts'

/**
 * Files that programs outside the sandbox run or obey on their own: hooks and settings of version
 * control, and tasks and settings of editors and coding agents. A sandbox that could write them
 * would act outside later.
 */
const DIRECTORIES = [
  '.vscode',
  '.idea',
  '.zed',
  '.devcontainer',
  '.husky',
  '.claude',
  '.cursor',
  '.codex',
  '.gemini',
  '.windsurf',
] as const
const FILES = ['.mcp.json', '.palisade.yaml', '.aider.conf.yml', '.envrc'] as const
export const HOOKS = 'hooks'
export const SETTINGS = 'config'
/** Parts of a repository that decide which programs git runs. */
export const GIT_PARTS: readonly string[] = [HOOKS, SETTINGS, 'config.worktree', COMMON_DIRECTORY]

/** Guarded directories that a sandbox must not create at the top of a workspace. */
export const GUARDED_DIRECTORIES: readonly string[] = DIRECTORIES

/** The guarded paths at any depth, as denies of `write`. */
export function guardedPaths(): PathDenies {
  const resources = [
    ...[...DIRECTORIES, ...FILES].map((name) => `/**/${name}`),
    ...GIT_PARTS.flatMap((part) => [
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

/** The name that makes a path guarded, with which a rule can open it. */
export function guardingName(path: string): string {
  const names = path.split('/')
  return (
    names.findLast((name) => name === REPOSITORY || isGuarded(name)) ?? names.at(-1) ?? REPOSITORY
  )
}

function isGuarded(name: string): boolean {
  return [...DIRECTORIES, ...FILES].some((guarded) => guarded === name)
}
