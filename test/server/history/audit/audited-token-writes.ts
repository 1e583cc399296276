import type { StoreWriter } from '../../../../server/src/store/store.ts'
import { enrolmentToken, LATER, NOW, token } from './audited-records.ts'

type Work = (writer: StoreWriter) => Promise<unknown>
type Expected = [kind: string, subject: object, before: unknown, after: unknown]
type Writes = Record<string, [Work, Expected[]]>

const SHOWN_TOKEN = {
  id: 't0',
  name: 'token t0',
  username: 'bob',
  permissions: ['policies:read'],
  created_at: NOW,
  expires_at: LATER,
}
const { username: _username, ...UNOWNED } = SHOWN_TOKEN
const MADE = { created_by: 'operator', parent_id: 't0' }
const SHOWN_T1 = { ...UNOWNED, ...MADE, id: 't1', name: 'token t1' }
const FIRST = { parent_id: null }
const SHOWN_T9 = { ...SHOWN_T1, ...FIRST, id: 't9', name: 'token t9', created_by: 'user:dan' }
const REVOKED_T0_AND_T1: Expected[] = [
  [
    'access_token.revoked',
    { id: 't0', name: 'token t0' },
    SHOWN_TOKEN,
    { ...SHOWN_TOKEN, revoked_at: LATER },
  ],
  [
    'access_token.revoked',
    { id: 't1', name: 'token t1' },
    SHOWN_T1,
    { ...SHOWN_T1, revoked_at: LATER },
  ],
]
const SHOWN_E0 = {
  id: 'e0',
  name: 'token e0',
  created_by: 'user:ann',
  parent_id: null,
  labels: ['ci'],
  max_uses: 2,
  created_at: NOW,
  expires_at: LATER,
}
const REVOKED_E0: Expected = [
  'enrolment_token.revoked',
  { id: 'e0', name: 'token e0' },
  SHOWN_E0,
  { ...SHOWN_E0, revoked_at: LATER },
]

/**
 * Events of access token writes in the history of `acme`. Bob owns `t0`, which created `t1`.
 */
export function accessTokenWrites(): Writes {
  return {
    insert: [
      (writer) => writer.accessTokens.insert(token('t2', { org: 'acme' })),
      [
        [
          'access_token.created',
          { id: 't2', name: 'token t2' },
          null,
          { ...SHOWN_T1, ...FIRST, id: 't2', name: 'token t2' },
        ],
      ],
    ],
    revoke: [(writer) => writer.accessTokens.revoke('t0', LATER), REVOKED_T0_AND_T1],
    revokeOfUser: [(writer) => writer.accessTokens.revokeOfUser('bob', LATER), REVOKED_T0_AND_T1],
    revokeMadeBy: [
      async ({ accessTokens }) => {
        await accessTokens.insert({ ...token('t9', { org: 'acme' }), created_by: 'user:dan' })
        await accessTokens.revokeMadeBy('acme', 'user:dan', LATER)
      },
      [
        ['access_token.created', { id: 't9', name: 'token t9' }, null, SHOWN_T9],
        [
          'access_token.revoked',
          { id: 't9', name: 'token t9' },
          SHOWN_T9,
          { ...SHOWN_T9, revoked_at: LATER },
        ],
      ],
    ],
    revokePending: [(writer) => writer.accessTokens.revokePending(), []],
  }
}

export function enrolmentTokenWrites(): Writes {
  return {
    insert: [
      (writer) => writer.enrolmentTokens.insert(enrolmentToken('e9')),
      [
        [
          'enrolment_token.created',
          { id: 'e9', name: 'token e9' },
          null,
          { ...SHOWN_E0, id: 'e9', name: 'token e9' },
        ],
      ],
    ],
    revoke: [(writer) => writer.enrolmentTokens.revoke('acme', 'e0', LATER), [REVOKED_E0]],
    revokeMadeBy: [
      (writer) => writer.enrolmentTokens.revokeMadeBy('acme', 'user:ann', LATER),
      [REVOKED_E0],
    ],
    revokePending: [(writer) => writer.enrolmentTokens.revokePending(), []],
  }
}
