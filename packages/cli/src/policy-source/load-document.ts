import {
  PolicyError,
  compilePolicy,
  type CompiledPolicy,
  effectivePolicies,
} from '@palisade/policy-core'
import type { PolicyFile } from '@palisade/protocol'
import { usageError } from '../cli-error.ts'
import type { Io } from '../io.ts'
import { listSourceFiles } from './list-source-files.ts'
import { loadFiles, type LoadedPolicy } from './load-sources.ts'

/** What is not said by policies as `plan` and `apply` read them. */
export interface Audience {
  /** Words of scopes: whose policies count besides those of everybody. */
  readonly teams: readonly string[]
  /** What `~` stands for. */
  readonly home: string
}

/** Policies of files, ready to be asked. */
export interface LoadedDocument {
  readonly source: PolicyFile
  readonly compiled: CompiledPolicy
  /** File, line and column of a rule, or of one of its resources. */
  placeOf(rule: RulePlace): string
}

interface RulePlace {
  readonly policy_id: string
  readonly rule_id: string
  readonly resource?: string
}

/**
 * Loads a file or a directory of the form that `plan` and `apply` read. Names stand in for the ids
 * that a server would give. Throws exit 2 with one line for each problem, as they do.
 */
export async function loadDocument(
  io: Pick<Io, 'cwd'>,
  file: string,
  audience: Audience,
): Promise<LoadedDocument> {
  const loaded = await loadFiles(io, await listSourceFiles(io, [file]))
  const idOf = numberTeams(loaded)
  const policies = loaded.map(({ policy: { name, scope = {}, rules } }) => ({
    id: name,
    name,
    scope: { teams: (scope.teams ?? []).map(idOf) },
    allowlist_v0: { rules: rules.map((rule) => ({ ...rule, id: rule.name })) },
  }))
  const { home } = audience
  const user_teams = audience.teams.map(idOf)
  const source = { policies, user_teams, home }
  try {
    const compiled = compilePolicy({ policies: effectivePolicies(policies, user_teams), home })
    return { source, compiled, placeOf: placeIn(loaded) }
  } catch (error) {
    if (error instanceof PolicyError && error.code === 'ERR_OPTION_INVALID')
      throw usageError(`\`--home\`: ${error.message}`)
    throw error
  }
}

/** Numbers stand in for words: ids are compared without case, names of teams with it. */
function numberTeams(loaded: readonly LoadedPolicy[]): (team: string) => string {
  const words = new Set(loaded.flatMap(({ policy }) => policy.scope?.teams ?? []))
  const ids = new Map([...words].map((team, index) => [team, String(index)]))
  return (team) => ids.get(team) ?? 'none'
}

function placeIn(loaded: readonly LoadedPolicy[]): LoadedDocument['placeOf'] {
  const byName = new Map(loaded.map((one) => [one.policy.name, one]))
  return ({ policy_id, rule_id, resource }) => {
    const found = byName.get(policy_id)
    if (found === undefined) throw new TypeError(`policy \`${policy_id}\` is in no file`)
    const index = found.policy.rules.findIndex(({ name }) => name === rule_id)
    const rule = found.policy.rules[index]
    if (rule === undefined) return found.place()
    const at = resource === undefined ? -1 : rule.resources.indexOf(resource)
    return found.place(at === -1 ? ['rules', index, 'name'] : ['rules', index, 'resources', at])
  }
}
