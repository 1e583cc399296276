import { decodeUtf8 } from '@palisade/client'
import { PolicyError, compilePolicy, type Policy } from '@palisade/policy-core'
import { parseJson, policyFileSchema } from '@palisade/protocol'
import { readFile, stat } from 'node:fs/promises'
import { AgentError, systemErrorCode } from '../errors.ts'

const MAX_BYTES = 16 * 1024 * 1024

/** A policy file of which only the user's own part may be there; the rest comes from the server. */
const localPoliciesSchema = policyFileSchema.pick({ local: true }).required()

/**
 * Reads the user's own policies, `{"local": [Policy…]}`, and makes sure that they compile.
 *
 * Throws `ERR_LOCAL_POLICIES_INVALID` with one line for each problem: file, policy, rule, member,
 * and what to write instead.
 */
export async function readLocalPolicies(path: string): Promise<readonly Policy[]> {
  const json = parseJson(await readText(path))
  if (!json.ok) throw refusal([`${path}: ${json.problem.message}`])
  const parsed = localPoliciesSchema.safeParse(json.value)
  if (!parsed.success) {
    throw refusal(
      parsed.error.issues.map(
        (issue) => `${describePlace(path, json.value, issue.path)}: ${describeIssue(issue)}`,
      ),
    )
  }
  try {
    compilePolicy({ policies: [], local: parsed.data.local, governed: true })
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error
    throw refusal(
      error.problems.map(
        (problem) =>
          `${path}: policy \`${problem.policy_name}\` (${problem.policy_id}) ` +
          `rule \`${problem.rule_name}\` (${problem.rule_id}): ${problem.member}: ${problem.message}`,
      ),
    )
  }
  return parsed.data.local
}

async function readText(path: string): Promise<string> {
  try {
    const found = await stat(path)
    if (!found.isFile()) throw refusal([`${path}: is not a file`])
    if (found.size > MAX_BYTES) throw refusal([`${path}: is larger than ${MAX_BYTES} bytes`])
    const text = decodeUtf8(await readFile(path))
    if (text === null) throw refusal([`${path}: is not UTF-8 text`])
    return text
  } catch (error) {
    if (error instanceof AgentError) throw error
    throw refusal([`${path}: cannot be read (${systemErrorCode(error) ?? 'unknown error'})`], error)
  }
}

/** The validator's own words for a missing member do not say that it is missing. */
function describeIssue({
  code,
  message,
}: {
  readonly code: string
  readonly message: string
}): string {
  const isMissing = code === 'invalid_type' && message.endsWith('received undefined')
  return isMissing ? 'is missing; `palisade lint` on the file says what it must be' : message
}

/** Names policy and rule by what a person wrote, where the document has it. */
function describePlace(path: string, document: unknown, place: readonly PropertyKey[]): string {
  const words: string[] = []
  let value: unknown = document
  let member = ''
  for (const [index, step] of place.entries()) {
    value = isRecord(value) || Array.isArray(value) ? Reflect.get(value, step) : undefined
    member += typeof step === 'number' ? `[${step}]` : `${member === '' ? '' : '.'}${String(step)}`
    const list = place[index - 1]
    if (typeof step !== 'number' || (list !== 'local' && list !== 'rules')) continue
    const name = isRecord(value) && typeof value['name'] === 'string' ? value['name'] : String(step)
    words.push(`${list === 'local' ? 'policy' : 'rule'} \`${name}\``)
    member = ''
  }
  const where = [path, words.join(' '), member].filter((part) => part !== '')
  return where.join(': ')
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function refusal(problems: readonly string[], cause?: unknown): AgentError {
  return new AgentError('ERR_LOCAL_POLICIES_INVALID', problems, cause)
}
