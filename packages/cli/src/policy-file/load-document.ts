import {
  PolicyError,
  compilePolicy,
  effectivePolicies,
  type CompiledPolicy,
  type PolicySet,
} from '@palisade/policy-core'
import {
  locateRules,
  readLocalDocuments,
  type PolicyFile,
  type NamedRule,
} from '@palisade/protocol'
import { CliError, usageError } from '../runtime/cli-error.ts'
import { EXIT } from '../runtime/exit-code.ts'
import type { Io } from '../runtime/io.ts'
import { listSourceFiles, type SourceFile } from './list-source-files.ts'
import { loadFiles, type LoadedPolicy } from './load-sources.ts'

/** Teams and home of the user, which files in the format of `plan` and `apply` do not have. */
export interface Audience {
  /** Teams as written in scopes; their policies apply beside those for everybody. */
  readonly teams: readonly string[]
  /** Directory that `~` stands for. */
  readonly home: string
}

/** Compiled policies of files. */
export interface LoadedDocument {
  readonly source: PolicyFile
  readonly compiled: CompiledPolicy
  /** File, line and column of a rule, or of one of its resources. */
  locationOf(rule: NamedRule): string
}

/**
 * Loads files and directories in the format of `plan` and `apply`, as one set. Names stand in for
 * the ids that a server would assign. Throws exit 2 with one line per problem, as these commands
 * do.
 */
export async function loadDocument(
  io: Pick<Io, 'cwd' | 'stderr'>,
  files: readonly string[],
  audience: Audience,
): Promise<LoadedDocument> {
  const loaded = await loadFiles(io, await listSourceFiles(io, files))
  const idOf = numberTeams(loaded)
  const policies = loaded.map(({ policy: { name, scope = {}, mode, rules } }) => ({
    id: name,
    name,
    scope: { teams: (scope.teams ?? []).map(idOf) },
    mode,
    allowlist_v0: { rules: rules.map((rule) => ({ ...rule, id: rule.name })) },
  }))
  const { home } = audience
  const user_teams = audience.teams.map(idOf)
  const source = { policies, user_teams, home }
  const compiled = compileForHome({ policies: effectivePolicies(policies, user_teams), home })
  return { source, compiled, locationOf: locateRules(loaded) }
}

function compileForHome(set: PolicySet): CompiledPolicy {
  try {
    return compilePolicy(set)
  } catch (error) {
    if (error instanceof PolicyError && error.code === 'ERR_OPTION_INVALID')
      throw usageError(`\`--home\`: ${error.message}`)
    throw error
  }
}

/** Loads the local rules of one machine, which apply only to its user. */
export function loadLocal(
  { file, text, format }: { file: string; text: string; format: SourceFile['format'] },
  { teams, home }: Audience,
): LoadedDocument {
  if (teams.length > 0) throw usageError('local rules have no teams; leave out `--team`')
  const { policies, located, problems } = readLocalDocuments(file, text, format)
  if (problems.length > 0) throw new CliError('ERR_POLICY_FILE', EXIT.usage, problems)
  const source = { local: policies, home }
  return { source, compiled: compileForHome(source), locationOf: locateRules(located) }
}

/** Numbers stand in for team names: ids are compared without case, names with it. */
function numberTeams(loaded: readonly LoadedPolicy[]): (team: string) => string {
  const words = new Set(loaded.flatMap(({ policy }) => policy.scope?.teams ?? []))
  const ids = new Map([...words].map((team, index) => [team, String(index)]))
  return (team) => ids.get(team) ?? 'none'
}
