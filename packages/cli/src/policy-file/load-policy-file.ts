import {
  compilePolicy,
  effectivePolicies,
  PolicyError,
  type CompiledPolicy,
} from '@palisade/policy-core'
import { describeProblem, readPolicyFile, type PolicyFile } from '@palisade/protocol'
import { stat } from 'node:fs/promises'
import { CliError, usageError } from '../runtime/cli-error.ts'
import { EXIT } from '../runtime/exit-code.ts'
import { readTextFile, resolveFile } from '../runtime/file-argument.ts'
import type { Io } from '../runtime/io.ts'
import { formatOf } from './list-source-files.ts'
import { loadDocument, loadLocal, type LoadedDocument } from './load-document.ts'

const MAX_FILE_BYTES = 16 * 1024 * 1024
/** Limit for a reader: a generated file may have a problem in every rule. */
const MAX_LINES = 100

/** Options for a file in the format of `plan` and `apply`, which has neither teams nor a home. */
export interface AudienceOptions {
  readonly team?: readonly string[]
  readonly home?: string
}

/** Loaded policies. Files in the format of `plan` and `apply` have `locationOf`. */
export interface LoadedPolicies {
  readonly source: PolicyFile
  readonly compiled: CompiledPolicy
  readonly locationOf?: LoadedDocument['locationOf']
}

/**
 * Reads, checks and compiles a policy file for the user that it names, or files in the format of
 * `plan` and `apply`. Throws exit 2 with one line per problem: file, policy, rule, member and
 * correction.
 */
export async function loadPolicyFile(
  io: Pick<Io, 'cwd' | 'home' | 'stderr'>,
  file: string,
  { team, home }: AudienceOptions = {},
): Promise<LoadedPolicies> {
  const audience = { teams: team ?? [], home: home ?? io.home }
  if (await isDirectory(io, file)) return loadDocument(io, [file], audience)
  const { read, text, format } = await readFile(io, file)
  if (read.kind === 'documents')
    return read.list === 'policies'
      ? loadDocument(io, [file], audience)
      : loadLocal({ file, text, format }, audience)
  if (team !== undefined || home !== undefined)
    throw usageError(
      '`--team` and `--home` are for files that `palisade plan` reads; ' +
        `${file} has \`user_teams\` and \`home\` itself`,
    )
  if (read.kind === 'invalid') throw invalid(file, read.problems)
  return { source: read.source, compiled: compileFile(file, read.source) }
}

/**
 * Loads several files and directories in the format of `plan` and `apply` as one set, as these
 * commands do; a single one in any format. Throws exit 2, also for a file that is a set of its own.
 */
export async function loadPolicyFiles(
  io: Pick<Io, 'cwd' | 'home' | 'stderr'>,
  files: readonly string[],
): Promise<LoadedPolicies> {
  const [first, ...others] = files
  if (first !== undefined && others.length === 0) return loadPolicyFile(io, first)
  for (const file of files) if (!(await isDirectory(io, file))) await requirePart(io, file)
  return loadDocument(io, files, { teams: [], home: io.home })
}

/** Leaves the faults of a file that cannot be read as policies to `loadDocument`. */
async function requirePart(io: Pick<Io, 'cwd'>, file: string): Promise<void> {
  const { read } = await readFile(io, file)
  if (read.kind === 'file' || (read.kind === 'documents' && read.list !== 'policies'))
    throw usageError(
      `${file} is a set of its own, and only files that \`palisade plan\` reads make one set; ` +
        `write \`palisade lint ${file}\``,
    )
}

async function readFile(io: Pick<Io, 'cwd'>, file: string) {
  const text = await readTextFile(io, file, MAX_FILE_BYTES)
  const format = formatOf(file) ?? 'json'
  return { text, format, read: readPolicyFile(text, format) }
}

async function isDirectory(io: Pick<Io, 'cwd'>, file: string): Promise<boolean> {
  const status = await stat(resolveFile(io, file)).catch(() => null)
  return status?.isDirectory() === true
}

/** Also compiles the policies of other teams, so that their mistakes are reported now. */
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

function invalid(file: string, problems: readonly string[], cause?: unknown): CliError {
  const shown = problems.slice(0, MAX_LINES).map((problem) => `${file}: ${problem}`)
  const more = problems.length - shown.length
  if (more > 0) shown.push(`${file}: and ${more} more problems`)
  return new CliError('ERR_POLICY_FILE', EXIT.usage, shown, { cause })
}
