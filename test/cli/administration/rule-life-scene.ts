import { expect } from 'vitest'
import { openTestServer } from '../../server/test-server.ts'
import { runCli, type CliRun } from '../run-cli.ts'

export const RULE = ['--name', 'a', '--action', 'connect:tcp', '--allow', 'a.example.com:443']

/** `palisade` as alice, the owner of acme on a server of its own. */
export interface Alice {
  readonly alice: (...argv: string[]) => Promise<CliRun>
  /** Expects success. */
  readonly output: (...argv: string[]) => Promise<string>
}

export async function openAlice(): Promise<Alice> {
  const { server, createOrganization } = await openTestServer()
  const { personal_token } = await createOrganization('acme', 'alice')
  const PALISADE_SERVER = await server.app.listen({ host: '127.0.0.1', port: 0 })
  const env = {
    PALISADE_SERVER,
    PALISADE_ORG: 'acme',
    PALISADE_USERNAME: 'alice',
    PALISADE_TOKEN: personal_token,
  }
  const alice: Alice['alice'] = (...argv) => runCli(argv, { env })
  return {
    alice,
    async output(...argv) {
      const { code, out, err } = await alice(...argv)
      expect(code, err).toBe(0)
      return out
    },
  }
}
