export { scripted } from '@koagent/core/scripted'
export type { Script, ScriptedCall, ScriptedModel, ScriptedStep } from '@koagent/core/scripted'
export { demoModel } from './demo/demo.ts'
export type { DemoModelOptions } from './demo/demo.ts'
