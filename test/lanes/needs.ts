/**
 * The programs that a source of the tests starts: a test needs those of all sources that it
 * reaches, itself among them. `source` is the beginning of a path. Cases for programs that only
 * they need, such as one of many clients, are skipped one by one in their file.
 */
export const NEEDED_BY: readonly {
  readonly source: string
  readonly programs: readonly string[]
}[] = [
  { source: 'test/agent/sandbox/', programs: ['bwrap', 'ip', 'nft', 'nsenter', 'setpriv'] },
  { source: 'test/agent/fixture/running-view.ts', programs: ['bwrap', 'nsenter'] },
  { source: 'test/agent/fixture/sandbox.ts', programs: ['bwrap', 'ip', 'nft', 'nsenter'] },
  { source: 'test/agent/container.process.test.ts', programs: ['bwrap', 'ip', 'nft'] },
  { source: 'test/cli/doctor/sandbox-checks.process.test.ts', programs: ['bwrap', 'ip', 'nft'] },
  { source: 'test/agent/sandbox/holder/', programs: ['curl', 'perl'] },
  { source: 'test/agent/sandbox/network/', programs: ['curl', 'perl'] },
  { source: 'test/agent/sandbox/view/live-guard', programs: ['perl'] },
  { source: 'test/agent/sandbox/view/view-attacks', programs: ['perl'] },
  { source: 'test/agent/local-api/sandbox-api', programs: ['curl'] },
  { source: 'test/agent/sandbox/run.process.test.ts', programs: ['curl'] },
  { source: 'test/agent/attacks/sandbox-', programs: ['bwrap', 'nft', 'curl'] },
  { source: 'test/agent/attacks/resources', programs: ['bwrap', 'python3'] },
  { source: 'test/agent/attacks/hostile-agent', programs: ['bwrap', 'nft'] },
  { source: 'test/agent/service/service-agent', programs: ['setpriv', 'curl'] },
  { source: 'test/agent/sandbox/fixture/terminal.ts', programs: ['script'] },
  { source: 'test/cli/proxied-programs/proxy-environment', programs: ['ssh'] },
  { source: 'test/server/webhooks/send-delivery', programs: ['openssl'] },
  { source: 'test/agent/clients/foreign-server-name', programs: ['openssl'] },
  { source: 'test/agent/records/record-files.process', programs: ['mkfifo'] },
  { source: 'test/cli/policy-source/export.process', programs: ['mkfifo'] },
  { source: 'test/cli/sandbox/profile/find-profile-file.process', programs: ['mkfifo'] },
  { source: 'test/server/main.process', programs: ['mkfifo'] },
  { source: 'test/server/operations/backup/back-up.process', programs: ['mkfifo'] },
  { source: 'test/server/operations/backup/restore.process', programs: ['mkfifo'] },
  { source: 'test/server/store/copy/copy-store.process', programs: ['mkfifo'] },
  { source: 'test/lanes/run-directory.process', programs: ['mount'] },
  { source: 'test/agent/fixture/small-disk.ts', programs: ['mount'] },
  { source: 'test/server/full-disk/small-disk.ts', programs: ['mount'] },
]
