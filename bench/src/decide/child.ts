import type { Case, CaseResult } from './case.ts'
import { runCompileCase } from './compile-case.ts'
import { runConnectCase } from './connect-case.ts'
import { runDecideCase } from './decide-case.ts'
import { runExplainAllCase } from './explain-all-case.ts'
import { runFirstCompileCase, runFirstDecisionCase } from './first-cases.ts'

/** Entry point of a case's process: the case is its argument, the result its output. */
async function run(each: Case): Promise<CaseResult> {
  switch (each.kind) {
    case 'decide':
      return runDecideCase(each)
    case 'compile':
      return runCompileCase(each)
    case 'connect':
      return runConnectCase(each)
    case 'first compile':
      return runFirstCompileCase(each)
    case 'first decision':
      return runFirstDecisionCase(each)
    case 'explain all':
      return runExplainAllCase(each)
  }
}

const each = JSON.parse(process.argv[2] ?? '') as Case
process.stdout.write(JSON.stringify(await run(each)))
