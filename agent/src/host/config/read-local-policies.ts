import { decodeUtf8 } from '@palisade/client'
import type { Policy } from '@palisade/policy-core'
import { readLocalPolicies as readText } from '@palisade/protocol'
import { readFile, stat } from 'node:fs/promises'
import { AgentError, systemErrorCode } from '../errors.ts'

const MAX_BYTES = 16 * 1024 * 1024

/**
 * Reads the user's own policies, by name or in the API's shape, and checks that they compile.
 *
 * Throws `ERR_LOCAL_POLICIES_INVALID` with one line for each problem: file and position, fault, and
 * correction.
 */
export async function readLocalPolicies(path: string): Promise<readonly Policy[]> {
  const text = await readPolicyText(path)
  const { policies, problems } = readText(path, text, /\.ya?ml$/i.test(path) ? 'yaml' : 'json')
  if (problems.length > 0) throw refusal(problems)
  return policies
}

async function readPolicyText(path: string): Promise<string> {
  try {
    const found = await stat(path)
    if (!found.isFile()) throw refusal([`${path}: is not a file`])
    if (found.size > MAX_BYTES) throw refusal([`${path}: is larger than ${MAX_BYTES} bytes`])
    const text = decodeUtf8(await readFile(path))
    if (text === null) throw refusal([`${path}: is not UTF-8 text`])
    return text
  } catch (error) {
    if (error instanceof AgentError) throw error
    throw refusal([`${path}: ${describeSystemError(error)}`], error)
  }
}

function describeSystemError(error: unknown): string {
  const code = systemErrorCode(error)
  if (code === 'ENOENT') return 'no such file or directory'
  if (code === 'EACCES') return 'permission denied'
  return `cannot be read (${code ?? 'unknown error'})`
}

function refusal(problems: readonly string[], cause?: unknown): AgentError {
  return new AgentError('ERR_LOCAL_POLICIES_INVALID', problems, cause)
}
