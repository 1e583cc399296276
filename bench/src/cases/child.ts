import type { Case, CaseResult } from '../case.ts'
import { runCompileCase } from './compile-case.ts'
import { runDecideCase } from './decide-case.ts'
import { runOrganizationCase } from './organization-case.ts'

/** The entry of a case's own process: the case is its argument, the result its output. */
async function run(each: Case): Promise<CaseResult> {
  switch (each.kind) {
    case 'decide':
    case 'explain':
      return runDecideCase(each)
    case 'compile':
      return runCompileCase(each)
    case 'organization':
      return runOrganizationCase(each)
  }
}

const each = JSON.parse(process.argv[2] ?? '') as Case
process.stdout.write(JSON.stringify(await run(each)))
