export { Agent } from './agent.ts'
export type { AgentConstructor, AgentOptions, Approvals, RunArguments, RunOptions } from './agent.ts'
export { RunController } from './controller.ts'
export type { Context, HelperRequest, SessionView } from './ctx.ts'
export { allow, ask, continue_run, deny, drop, raise, replace_result, retry, stop } from './decision.ts'
export type {
  Allow,
  AllowArgs,
  AllowCall,
  Ask,
  ContinueRun,
  Decision,
  Deny,
  Drop,
  Raise,
  ReplaceResult,
  Retry,
  Stop,
} from './decision.ts'
export {
  ConfigError,
  HookContractError,
  KoagentError,
  ModelError,
  originOf,
  RunCancelledError,
  SessionBusyError,
  ToolError,
} from './errors.ts'
export type { Origin } from './errors.ts'
export type {
  AgentEvent,
  CallFields,
  Change,
  ErrorFacts,
  EventBase,
  EventFields,
  EventOf,
  EventType,
  StepFields,
  ToolCallBegin,
  ToolResultEvent,
  ToolStatus,
} from './event/event.ts'
export { hooks } from './hooks.ts'
export type {
  Ctx,
  ErrorDecision,
  Hook,
  HookPoint,
  Hooks,
  May,
  Point,
  PointKind,
  RunDecision,
  StepDecision,
  StepRequest,
  ToolDecision,
  Transform,
} from './hooks.ts'
export type { Json, JsonObject } from './json.ts'
export { callsOf, mapText, textOf, userMessage } from './message.ts'
export type {
  AssistantMessage,
  AssistantPart,
  ContentPart,
  FilePart,
  ImagePart,
  Input,
  Message,
  ReasoningPart,
  SystemMessage,
  TextPart,
  ToolCallPart,
  ToolMessage,
  ToolResult,
  ToolResultPart,
  UserMessage,
} from './message.ts'
export { defineMiddleware } from './middleware/middleware.ts'
export type { AnyMiddleware, MetaOfAll, Middleware, MiddlewareList } from './middleware/middleware.ts'
export { onEvents } from './middleware/on-events.ts'
export { forTools, stack, when } from './middleware/wrap.ts'
export type { ToolFilter, WhenContext } from './middleware/wrap.ts'
export { addUsage } from './model.ts'
export type {
  FinishReason,
  LLMStep,
  Model,
  ModelOptions,
  ModelPart,
  ModelRequest,
  ModelSettings,
  ModelToolCall,
  ToolChoice,
  ToolSpec,
  Usage,
} from './model.ts'
export type { RunResult, RunStatus, TurnResult, TurnStatus } from './result.ts'
export type { Run } from './run/run.ts'
export type { Logger, Runtime, RuntimeOptions } from './runtime.ts'
export { memorySession } from './session/session.ts'
export type { Session } from './session/session.ts'
export { deriveSignal } from './signal.ts'
export type { DerivedSignal } from './signal.ts'
export { stateKey } from './state.ts'
export type { StateKey } from './state.ts'
export { defineTool } from './tool/define.ts'
export type { Tool, ToolCtx, ToolOptions } from './tool/define.ts'
