import { compilePolicy, PolicyError } from '@palisade/policy-core'
import { policyDocumentSchema, type PolicyDocument } from '@palisade/protocol'
import { CliError } from '../cli-error.ts'
import { EXIT } from '../exit-code.ts'
import { readTextFile } from '../file-argument.ts'
import type { Io } from '../io.ts'
import { describeSourceIssue } from './describe-source-issue.ts'
import { listSourceFiles, type SourceFile } from './list-source-files.ts'
import { parseSource, type SourceDocument } from './parse-source.ts'

/** Of one file. */
export const MAX_FILE_BYTES = 16 * 1024 * 1024
/** A generated file may be wrong in every rule; nobody reads more than this. */
const MAX_LINES = 100

export type SourcePolicy = PolicyDocument['policies'][number]

/**
 * The policies of all files that the arguments name. Throws exit 2 with one line for each problem,
 * which begins with file, line and column: what cannot be read, what does not compile, and a policy
 * that stands twice.
 */
export async function loadSources(
  io: Pick<Io, 'cwd'>,
  names: readonly string[],
): Promise<readonly SourcePolicy[]> {
  const loaded = await loadFiles(io, await listSourceFiles(io, names))
  return loaded.map(({ policy }) => policy)
}

/** A policy of a file. */
export interface LoadedPolicy {
  readonly policy: SourcePolicy
  readonly file: SourceFile
  /**
   * File, line and column of the policy's name, or of what is at `path` in it. Found when asked for:
   * where everything is good, nobody asks.
   */
  readonly place: (path?: readonly PropertyKey[]) => string
}

/** The policies of these files, each with where it stands. Throws as `loadSources` does. */
export async function loadFiles(
  io: Pick<Io, 'cwd'>,
  files: readonly SourceFile[],
): Promise<readonly LoadedPolicy[]> {
  const policies: LoadedPolicy[] = []
  const places = new Map<string, () => string>()
  const problems: Problem[] = []
  for (const file of files) {
    const loaded = await loadFile(io, file)
    for (const problem of loaded.problems) problems.push(problem)
    for (const { policy, place } of loaded.policies) {
      const first = places.get(policy.name)
      if (first === undefined) places.set(policy.name, place)
      else problems.push(() => `${place()}: policy \`${policy.name}\` stands already at ${first()}`)
      policies.push({ policy, file, place })
    }
  }
  if (problems.length > 0) throw invalid(problems)
  return policies
}

/** Its line, made when it is shown: finding a place among 100,000 members takes its time. */
type Problem = () => string

interface LoadedFile {
  readonly policies: readonly Omit<LoadedPolicy, 'file'>[]
  readonly problems: readonly Problem[]
}

async function loadFile(io: Pick<Io, 'cwd'>, file: SourceFile): Promise<LoadedFile> {
  const text = await readTextFile(io, file.path, MAX_FILE_BYTES).catch((error: unknown) => {
    throw renamed(error, file)
  })
  const { documents, troubles, positionOf } = parseSource(text, file.format)
  const placeOf = (offset: number): string => {
    if (offset < 0) return file.shown
    const { line, column } = positionOf(offset)
    return `${file.shown}:${line}:${column}`
  }
  if (troubles.length > 0)
    return {
      policies: [],
      problems: troubles.map(
        ({ message, offset }) =>
          () =>
            `${placeOf(offset)}: ${message}`,
      ),
    }
  if (documents.length === 0)
    return {
      policies: [],
      problems: [() => `${file.shown}: is empty; write \`policies: []\` for none`],
    }
  const loaded = documents.map((document) => loadDocument(document, placeOf))
  return {
    policies: loaded.flatMap(({ policies }) => policies),
    problems: loaded.flatMap(({ problems }) => problems),
  }
}

function loadDocument(document: SourceDocument, placeOf: (offset: number) => string): LoadedFile {
  const at = (path: readonly PropertyKey[]): string => placeOf(document.offsetOf(path))
  const parsed = policyDocumentSchema.safeParse(document.value)
  if (!parsed.success)
    return {
      policies: [],
      problems: parsed.error.issues
        .slice(0, MAX_LINES)
        .flatMap((issue) => describeSourceIssue(document.value, issue))
        .map(
          ({ path, message }) =>
            () =>
              `${at(path)}: ${message}`,
        ),
    }
  const policies = parsed.data.policies.map((policy, index) => ({
    policy,
    place: (path: readonly PropertyKey[] = ['name']) => at(['policies', index, ...path]),
  }))
  const problems = parsed.data.policies.flatMap((policy, index) =>
    findProblems(policy).map(
      ({ path, message }) =>
        () =>
          `${at(['policies', index, ...path])}: ${message}`,
    ),
  )
  return { policies, problems }
}

/** What the server would refuse, found while the line is still known. */
function findProblems(
  policy: SourcePolicy,
): readonly { readonly path: readonly PropertyKey[]; readonly message: string }[] {
  const seen = new Set<string>()
  const repeated = policy.rules.flatMap(({ name }, index) => {
    if (seen.has(name))
      return [
        { path: ['rules', index, 'name'], message: `rule \`${name}\` stands twice in its policy` },
      ]
    seen.add(name)
    return []
  })
  const rules = policy.rules.map((rule, index) => ({ ...rule, id: String(index) }))
  try {
    compilePolicy({ policies: [{ id: '', name: policy.name, allowlist_v0: { rules } }] })
    return repeated
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error
    return [
      ...repeated,
      ...error.problems.map(({ rule_id, member, message }) => ({
        path: ['rules', Number(rule_id), ...pathOf(member)],
        message,
      })),
    ]
  }
}

/** `resources[2]` as a path. */
function pathOf(member: string): readonly PropertyKey[] {
  return [...member.matchAll(/[^.[\]]+/g)].map(([part]) =>
    /^\d+$/.test(part) ? Number(part) : part,
  )
}

function invalid(problems: readonly Problem[]): CliError {
  const shown = problems.slice(0, MAX_LINES).map((problem) => problem())
  const more = problems.length - shown.length
  if (more > 0) shown.push(`and ${more} more problems`)
  return new CliError('ERR_POLICY_FILE', EXIT.usage, shown)
}

/** The files of a directory are read by their whole path and spoken of by the shown one. */
function renamed(error: unknown, file: SourceFile): unknown {
  if (!(error instanceof CliError)) return error
  const lines = error.lines.map((line) => line.replace(file.path, () => file.shown))
  return new CliError(error.code, error.exitCode, lines, { cause: error.cause })
}
