import { join } from 'node:path'
import { AGENT, bundleOf } from '../../../packages/launcher/programs.mjs'
import { askHttp } from '../process/ask-http.ts'
import { startProcess, type MeasuredProcess } from '../process/start-process.ts'

const MAIN = join(import.meta.dirname, '../../..', bundleOf(AGENT))

/** An agent as it ships, in its own process. */
export interface MeasuredAgent extends MeasuredProcess {
  readonly socketPath: string
  /** Fetches once and returns the outcome as the local API names it. */
  sync(): Promise<string>
}

/** Starts an agent on `dataDir` and repeats the `wanted` request until a rule allows it. */
export async function startAgent(
  dataDir: string,
  wanted: object,
  settings: Readonly<Record<string, string>> = {},
): Promise<MeasuredAgent> {
  const socketPath = join(dataDir, 'agent', 'agent.sock')
  const ask = async (path: string, body: string): Promise<Record<string, string>> => {
    const answer = await askHttp({ socketPath, path, method: 'POST' }, body)
    return JSON.parse(answer?.text ?? '{}') as Record<string, string>
  }
  const isAllowed = async (): Promise<boolean> => {
    const { decision, reason } = await ask('/v1/decide', JSON.stringify(wanted))
    return decision === 'allow' && reason === 'rule'
  }
  const env = { PALISADE_DATA_DIR: dataDir, PALISADE_PROXY_PORT: '0', ...settings }
  const args = [...AGENT.nodeOptions, MAIN, 'start']
  return {
    ...(await startProcess(process.execPath, args, env, isAllowed)),
    socketPath,
    sync: async () => (await ask('/v1/sync', ''))['outcome'] ?? 'no answer',
  }
}
