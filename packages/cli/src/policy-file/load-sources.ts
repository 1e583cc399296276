import {
  findRepeated,
  readDocuments,
  type LocatedPolicy,
  type ReadDocuments,
  type SourcePolicy,
} from '@palisade/protocol'
import { CliError } from '../runtime/cli-error.ts'
import { EXIT } from '../runtime/exit-code.ts'
import { readTextFile } from '../runtime/file-argument.ts'
import type { Io } from '../runtime/io.ts'
import { listSourceFiles, type SourceFile } from './list-source-files.ts'

type Problem = ReadDocuments['problems'][number]

/** Limit of one file. */
export const MAX_FILE_BYTES = 16 * 1024 * 1024
/** Limit for a reader: a generated file may have a problem in every rule. */
const MAX_LINES = 100

/**
 * Loads the policies of all files that the arguments name. Throws exit 2 with one line per problem,
 * which begins with file, line and column: a syntax error, a rule that does not compile, or a
 * repeated policy.
 */
export async function loadSources(
  io: Pick<Io, 'cwd' | 'stderr'>,
  names: readonly string[],
): Promise<readonly SourcePolicy[]> {
  const loaded = await loadFiles(io, await listSourceFiles(io, names))
  return loaded.map(({ policy }) => policy)
}

/** A policy with its file. */
export interface LoadedPolicy extends LocatedPolicy {
  readonly file: SourceFile
}

/** Loads the policies of these files with their positions. Throws as `loadSources` does. */
export async function loadFiles(
  io: Pick<Io, 'cwd'>,
  files: readonly SourceFile[],
): Promise<readonly LoadedPolicy[]> {
  const policies: LoadedPolicy[] = []
  const problems: Problem[] = []
  for (const file of files) {
    const loaded = await loadFile(io, file)
    for (const problem of loaded.problems) problems.push(problem)
    for (const located of loaded.policies) policies.push({ ...located, file })
  }
  problems.push(...findRepeated(policies))
  if (problems.length > 0) throw invalid(problems)
  return policies
}

async function loadFile(io: Pick<Io, 'cwd'>, file: SourceFile): Promise<ReadDocuments> {
  const text = await readTextFile(io, file.path, MAX_FILE_BYTES).catch((error: unknown) => {
    throw renamed(error, file)
  })
  return readDocuments(file.shown, text, file.format)
}

function invalid(problems: readonly Problem[]): CliError {
  const shown = problems.slice(0, MAX_LINES).map((problem) => problem())
  const more = problems.length - shown.length
  if (more > 0) shown.push(`and ${more} more problems`)
  return new CliError('ERR_POLICY_FILE', EXIT.usage, shown)
}

/** Names a file of a directory by its shown path instead of the full path that was read. */
function renamed(error: unknown, file: SourceFile): unknown {
  if (!(error instanceof CliError)) return error
  const lines = error.lines.map((line) => line.replace(file.path, () => file.shown))
  return new CliError(error.code, error.exitCode, lines, { cause: error.cause })
}
