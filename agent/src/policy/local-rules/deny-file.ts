import { readPrivateFile } from '@palisade/client'
import { PolicyError, runSteps } from '@palisade/policy-core'
import { localDenySchema, MAX_LOCAL_DENIES, parseJson, type LocalDeny } from '@palisade/protocol'
import { join } from 'node:path'
import { z } from 'zod'
import { AgentError } from '../../host/errors.ts'
import { writeDurably } from '../../host/durable-file.ts'
import { checkDenies } from './deny-policies.ts'

const FILE = 'local-rules.json'
/** Room for the limit of denies, each with a long resource. */
const MAX_BYTES = 16 * 1024 * 1024

const fileSchema = z.strictObject({
  version: z.literal(1),
  denies: z.array(localDenySchema).max(MAX_LOCAL_DENIES),
})

/** Path of the user's own denies in the agent's directory. */
export function denyFileOf(agentDir: string): string {
  return join(agentDir, FILE)
}

/**
 * Reads the user's own denies; an absent file means none. A damaged file must not be ignored, which
 * would open the denied resources again: throws `ERR_LOCAL_POLICIES_INVALID`.
 */
export async function readDenies(path: string): Promise<readonly LocalDeny[]> {
  const file = await readPrivateFile(path, MAX_BYTES)
  if (!file.ok) {
    if (file.code === 'ENOENT') return []
    throw refusal(path, file.message)
  }
  const json = parseJson(file.text)
  if (!json.ok) throw refusal(path, json.problem.message)
  const parsed = fileSchema.safeParse(json.value)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw refusal(path, `${issue?.path.join('.') || 'the document'}: ${issue?.message}`)
  }
  try {
    runSteps(checkDenies(parsed.data.denies))
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error
    throw refusal(path, error.message)
  }
  return parsed.data.denies
}

/** Replaces the file. Resolves when the new one is durable; a failure leaves the former one. */
export async function writeDenies(path: string, denies: readonly LocalDeny[]): Promise<void> {
  await writeDurably(path, `${JSON.stringify({ version: 1, denies }, null, 2)}\n`)
}

function refusal(path: string, message: string): AgentError {
  return new AgentError('ERR_LOCAL_POLICIES_INVALID', [
    `${path}: ${message}; mend it, or remove it to lose the rules of \`palisade deny\``,
  ])
}
