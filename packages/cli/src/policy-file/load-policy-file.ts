import {
  compilePolicy,
  effectivePolicies,
  PolicyError,
  type CompiledPolicy,
  type PolicyProblem,
} from '@palisade/policy-core'
import { parseJson, policyFileSchema, type PolicyFile } from '@palisade/protocol'
import { stat } from 'node:fs/promises'
import { CliError, usageError } from '../cli-error.ts'
import { EXIT } from '../exit-code.ts'
import { readTextFile, resolveFile } from '../file-argument.ts'
import type { Io } from '../io.ts'
import { isDocument } from '../policy-source/is-document.ts'
import { loadDocument, type LoadedDocument } from '../policy-source/load-document.ts'
import { parseSource } from '../policy-source/parse-source.ts'
import { describeIssue } from './describe-issue.ts'

const MAX_FILE_BYTES = 16 * 1024 * 1024
/** A generated file may be wrong in every rule; nobody reads more than this. */
const MAX_LINES = 100

/** What may be said beside a file of the form that `plan` and `apply` read. */
export interface AudienceOptions {
  readonly team?: readonly string[]
  readonly home?: string
}

/** Policies to be asked; where rules stand is known of the form that `plan` and `apply` read. */
export interface LoadedPolicies {
  readonly source: PolicyFile
  readonly compiled: CompiledPolicy
  readonly placeOf?: LoadedDocument['placeOf']
}

/**
 * Reads, checks and compiles a policy file for the user that it names, or files of the form that
 * `plan` and `apply` read. Throws exit 2 with one line for each problem: file, policy, rule, member,
 * and what to write instead.
 */
export async function loadPolicyFile(
  io: Pick<Io, 'cwd' | 'home'>,
  file: string,
  { team, home }: AudienceOptions = {},
): Promise<LoadedPolicies> {
  const audience = { teams: team ?? [], home: home ?? io.home }
  if (await isDirectory(io, file)) return loadDocument(io, file, audience)
  const values = parseValues(file, await readTextFile(io, file, MAX_FILE_BYTES))
  if (values.some(isDocument)) return loadDocument(io, file, audience)
  if (team !== undefined || home !== undefined)
    throw usageError(
      `\`--team\` and \`--home\` are for files that \`palisade plan\` reads; ${file} says \`user_teams\` and \`home\` itself`,
    )
  const source = parsePolicyFile(file, values)
  return { source, compiled: compileFile(file, source) }
}

async function isDirectory(io: Pick<Io, 'cwd'>, file: string): Promise<boolean> {
  const status = await stat(resolveFile(io, file)).catch(() => null)
  return status?.isDirectory() === true
}

/** One of JSON, any number of YAML. */
function parseValues(file: string, text: string): readonly unknown[] {
  return /\.ya?ml$/.test(file) ? parseYamlText(file, text) : [parseJsonText(file, text)]
}

function parsePolicyFile(file: string, values: readonly unknown[]): PolicyFile {
  if (values.length !== 1)
    throw invalid(file, [`holds ${values.length} documents; write exactly one`])
  const [value] = values
  const parsed = policyFileSchema.safeParse(value)
  if (parsed.success) return parsed.data
  throw invalid(
    file,
    parsed.error.issues.flatMap((issue) => describeIssue(value, issue)),
  )
}

function parseJsonText(file: string, text: string): unknown {
  const json = parseJson(text)
  if (json.ok) return json.value
  const { message, offset } = json.problem
  const known = offset < 0 || /at line \d/.test(message)
  throw invalid(file, [known ? message : `${message} at ${formatPosition(text, offset)}`])
}

function parseYamlText(file: string, text: string): readonly unknown[] {
  const { documents, troubles } = parseSource(text, 'yaml')
  if (troubles.length === 0) return documents.map(({ value }) => value)
  throw invalid(
    file,
    troubles.map(({ message, offset }) => `${message} at ${formatPosition(text, offset)}`),
  )
}

/** Policies of other teams are compiled too: a mistake in one must not wait for its team. */
function compileFile(file: string, source: PolicyFile): CompiledPolicy {
  const { user_teams, policies, ...rest } = source
  try {
    const effective = policies && effectivePolicies(policies, user_teams)
    if (effective?.length !== policies?.length) compilePolicy({ ...rest, policies })
    return compilePolicy({ ...rest, policies: effective })
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error
    const lines = error.problems.map(describeProblem)
    throw invalid(file, lines.length === 0 ? [error.message] : lines, error)
  }
}

function describeProblem(problem: PolicyProblem): string {
  const policy = problem.origin === 'local' ? 'local policy' : 'policy'
  return (
    `${policy} \`${problem.policy_name}\` (${problem.policy_id}) ` +
    `rule \`${problem.rule_name}\` (${problem.rule_id}): ${problem.member}: ${problem.message}`
  )
}

function invalid(file: string, problems: readonly string[], cause?: unknown): CliError {
  const shown = problems.slice(0, MAX_LINES).map((problem) => `${file}: ${problem}`)
  const more = problems.length - shown.length
  if (more > 0) shown.push(`${file}: and ${more} more problems`)
  return new CliError('ERR_POLICY_FILE', EXIT.usage, shown, { cause })
}

function formatPosition(text: string, offset: number): string {
  const before = text.slice(0, offset)
  return `line ${before.split('\n').length}, column ${offset - before.lastIndexOf('\n')}`
}
